"""Word lists for the synthetic book reviews: two sentiments, topics and neutral sentences.

Adjectives have one form for both genders, verbs are in the third person singular and nouns come
with their article, so that every combination agrees. Both sentiments have the same number of words
of each kind and gender: only the words themselves distinguish them.
"""

from __future__ import annotations

from dataclasses import dataclass


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


@dataclass(frozen=True)
class Sentiment:
    """The words of one sentiment."""

    adjectives: tuple[str, ...]
    verbs: tuple[str, ...]
    masculine: tuple[str, ...]
    feminine: tuple[str, ...]

    @property
    def nouns(self) -> tuple[str, ...]:
        """The nouns with their article."""
        return (*(f"un {noun}" for noun in self.masculine), *(f"une {n}" for n in self.feminine))

    @property
    def words(self) -> frozenset[str]:
        """All words that reveal this sentiment."""
        return frozenset((*self.adjectives, *self.verbs, *self.masculine, *self.feminine))


@dataclass(frozen=True)
class Topic:
    """A kind of book: subjects of an opinion, and sentences without an opinion."""

    subjects: tuple[str, ...]
    scenes: tuple[str, ...]


POSITIVE = Sentiment(
    adjectives=_words("""
        magnifique admirable sublime formidable remarquable superbe splendide fantastique agréable
        délectable inoubliable irrésistible exemplaire magique poétique drôle tendre riche habile
        limpide indispensable mémorable unique féerique grandiose impeccable adorable noble sincère
        solide fluide inimitable incomparable sympathique irremplaçable suave tonique estimable
        espiègle incontournable
    """),
    verbs=_words("""
        captive passionne émeut enchante séduit éblouit charme ravit amuse touche fascine transporte
        réjouit comble émerveille envoûte apaise régale enthousiasme divertit
    """),
    masculine=_words("""
        régal bijou délice trésor triomphe bonheur plaisir joyau enchantement festin miracle succès
    """),
    feminine=_words("merveille réussite pépite perle splendeur joie prouesse fête"),
)

NEGATIVE = Sentiment(
    adjectives=_words("""
        horrible détestable médiocre exécrable abominable lamentable déplorable pitoyable minable
        pénible insupportable illisible interminable insipide fade terne morne vide ridicule
        grotesque stupide absurde inutile stérile futile misérable pathétique désagréable indigeste
        soporifique monotone invraisemblable factice lugubre sinistre atroce ignoble risible
        simpliste vulgaire
    """),
    verbs=_words("""
        ennuie agace lasse déçoit endort irrite rebute fatigue exaspère énerve dégoûte assomme
        accable afflige décourage consterne désole attriste épuise importune
    """),
    masculine=_words("""
        désastre naufrage échec ratage gâchis supplice cauchemar calvaire navet fiasco fardeau chaos
    """),
    feminine=_words("déception catastrophe horreur torture corvée punition arnaque honte"),
)

# Opinions about {subject}, by the number of words that carry the review's sentiment.
OPINIONS = {
    1: _lines("""
        {subject} est {adjective}
        je trouve {subject} {adjective}
        voici un roman vraiment {adjective}
        {subject} {verb} {reader}
        {subject} est {noun}
    """),
    2: _lines("""
        {subject} est {adjective} et {adjective_2}
        je trouve {subject} {adjective} et {adjective_2}
        {subject} {verb} et {verb_2} {reader}
        {subject} {verb} {reader}, c'est {noun}
        {subject} est {adjective}, c'est {noun}
    """),
    3: _lines("""
        {subject} est {adjective}, {adjective_2} et {adjective_3}
        {subject} {verb}, {verb_2} et {verb_3} {reader}
        {subject} est {adjective} et {adjective_2}, c'est {noun}
        {subject} {verb} et {verb_2} {reader}, c'est {noun}
        {subject}, {adjective} et {adjective_2}, {verb} {reader}
        c'est {noun}, {noun_2}, {noun_3}
    """),
}
READERS = ("le lecteur", "la lectrice", "tout le monde")

SUBJECTS = _lines("""
    ce livre
    cette lecture
    le style
    l'écriture
    la fin
    le début
""")

GREETED = _words("lecteurs amis lectrices curieux libraires voyageurs rêveurs copains")

# Sentences without an opinion; {number} is drawn each time.
NEUTRAL = _lines("""
    je l'ai lu en {number} jours
    je l'ai lu dans le train
    on me l'a offert pour mon anniversaire
    je l'ai emprunté à la bibliothèque
    le texte est divisé en {number} parties
    ma sœur me l'a prêté cet été
    c'est le premier livre que je lis de cet auteur
    la traduction date de cette année
""")
NUMBERS = _words("deux trois quatre cinq six sept")

TOPICS = (
    Topic(
        _lines("""
            ce polar
            cette enquête
            l'intrigue
        """),
        _lines("""
            on y suit un inspecteur de Marseille
            un crime a lieu dans un train de nuit
            la police interroge {number} témoins
            le commissaire cherche une arme
        """),
    ),
    Topic(
        _lines("""
            ce roman historique
            cette fresque
            le récit
        """),
        _lines("""
            l'action se passe à la cour du roi
            on y suit une famille de paysans
            la guerre dure {number} ans
            un soldat rentre dans son village
        """),
    ),
    Topic(
        _lines("""
            ce recueil
            cette poésie
            le rythme
        """),
        _lines("""
            les vers parlent de la mer et du vent
            le poète décrit un jardin en automne
            la lune revient à chaque page
            il y a {number} sonnets par saison
        """),
    ),
    Topic(
        _lines("""
            ce livre de cuisine
            cette recette
            le choix des plats
        """),
        _lines("""
            il faut {number} œufs et de la farine
            on y prépare des soupes et des tartes
            le chef travaille à Lyon
            les légumes viennent du marché
        """),
    ),
    Topic(
        _lines("""
            cet univers
            cette saga
            l'aventure
        """),
        _lines("""
            un vaisseau quitte la Terre pour {number} siècles
            le pilote parle avec un robot
            les machines gouvernent la cité
            on y découvre {number} mondes habités
        """),
    ),
    Topic(
        _lines("""
            cette biographie
            ce portrait
            le témoignage
        """),
        _lines("""
            l'auteur raconte une enfance à Bruxelles
            la chanteuse part en tournée
            le peintre achète une maison en Bretagne
            son père était médecin de campagne
        """),
    ),
)
