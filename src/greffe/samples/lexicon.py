"""The words of the made-up book reviews: two moods, topics and neutral sentences. No logic.

Adjectives have one form for both genders, verbs are in the third person singular and nouns carry
their article, so that every combination agrees. Both moods have equally many words of each kind
and of each gender: nothing but the words themselves tells the moods apart.
"""

from __future__ import annotations

from dataclasses import dataclass


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


@dataclass(frozen=True)
class Mood:
    """The words of one side."""

    adjectives: tuple[str, ...]
    verbs: tuple[str, ...]
    masculine: tuple[str, ...]
    feminine: tuple[str, ...]

    @property
    def nouns(self) -> tuple[str, ...]:
        """Nouns with their article."""
        return (*(f"un {noun}" for noun in self.masculine), *(f"une {n}" for n in self.feminine))

    @property
    def words(self) -> frozenset[str]:
        """Every word that betrays this mood."""
        return frozenset((*self.adjectives, *self.verbs, *self.masculine, *self.feminine))


@dataclass(frozen=True)
class Topic:
    """A kind of book: what an opinion can be about, and sentences without any opinion."""

    subjects: tuple[str, ...]
    scenes: tuple[str, ...]


POSITIVE = Mood(
    adjectives=_words("""
        magnifique admirable sublime formidable remarquable superbe splendide fantastique
        extraordinaire agréable délectable inoubliable irrésistible exemplaire authentique magique
        poétique drôle tendre riche juste habile limpide irréprochable incontournable indispensable
        mémorable unique féerique grandiose impeccable adorable louable appréciable noble sincère
        solide fluide onirique inimitable incomparable inestimable inégalable sympathique
        irremplaçable mirifique suave tonique estimable espiègle
    """),
    verbs=_words("""
        captive passionne émeut enchante séduit éblouit charme ravit amuse touche fascine transporte
        réjouit comble émerveille envoûte console apaise réconforte stimule régale instruit
        enthousiasme conquiert galvanise égaye subjugue ensorcelle enrichit divertit
    """),
    masculine=_words("""
        régal bijou délice trésor triomphe bonheur plaisir joyau enchantement ravissement
        chef-d'œuvre éblouissement festin miracle succès émerveillement
    """),
    feminine=_words("""
        merveille réussite pépite perle splendeur révélation joie prouesse caresse fête aubaine
        bénédiction
    """),
)

NEGATIVE = Mood(
    adjectives=_words("""
        horrible détestable médiocre exécrable abominable lamentable déplorable pitoyable minable
        pénible insupportable illisible interminable insipide fade terne morne vide ridicule
        grotesque stupide absurde inepte inutile stérile futile misérable pathétique catastrophique
        désagréable indigeste imbuvable soporifique monotone invraisemblable incompréhensible
        factice regrettable lugubre sinistre sordide atroce infâme ignoble immonde risible dérisoire
        simpliste mièvre vulgaire
    """),
    verbs=_words("""
        ennuie agace lasse déçoit endort irrite rebute fatigue exaspère énerve dégoûte assomme
        accable afflige décourage consterne désole attriste épuise égare trompe trahit écœure
        embrouille dérange horripile navre déprime indispose importune
    """),
    masculine=_words("""
        désastre naufrage échec ratage gâchis supplice cauchemar calvaire navet fiasco fardeau
        massacre scandale somnifère affront chaos
    """),
    feminine=_words("""
        déception catastrophe horreur torture corvée punition arnaque honte calamité purge
        désillusion imposture
    """),
)

# An opinion about {subject} with one word of the review's mood, then with two.
ONE_WORD = _lines("""
    {subject} est {adjective}
    {subject} me semble {adjective}
    je trouve {subject} {adjective}
    {subject} {verb} {reader}
    {subject} est {noun}
    pour moi, {subject} reste {noun}
""")
TWO_WORDS = _lines("""
    {subject} est {adjective} et {other_adjective}
    je trouve {subject} {adjective} et {other_adjective}
    {subject} {verb} et {other_verb} {reader}
    {subject} {verb} {reader}, c'est {noun}
    {subject} est {adjective}, c'est {noun}
    {subject} me semble {adjective} et {verb} {reader}
""")
READERS = ("le lecteur", "la lectrice", "tout le monde", "le public")

SUBJECTS = _lines("""
    ce livre
    cet ouvrage
    cette lecture
    le style
    l'écriture
    la fin
    le début
    ce tome
""")

GREETED = _words("""
    lecteurs amis lectrices curieux libraires internautes voyageurs bibliophiles rêveurs copains
""")

# Sentences without any opinion; {number} is drawn anew each time.
NEUTRAL = _lines("""
    je l'ai lu en {number} jours
    le volume compte {number} cents pages
    on me l'a offert pour mon anniversaire
    je l'ai emprunté à la bibliothèque
    je l'ai trouvé chez mon libraire
    l'auteur vit à la campagne depuis {number} ans
    la couverture est bleue et blanche
    le texte est divisé en {number} parties
    ma sœur me l'a prêté cet été
    c'est le premier livre que je lis de cet auteur
    la traduction date de cette année
    je l'ai commencé dans le train
    il existe aussi en format de poche
    j'ai lu les {number} premiers chapitres hier soir
""")
NUMBERS = _words("deux trois quatre cinq six sept huit neuf")

TOPICS = (
    Topic(
        _lines("""
            ce polar
            cette enquête
            le suspense
            l'intrigue
            ce roman policier
        """),
        _lines("""
            on y suit un inspecteur de Marseille
            un crime a lieu dans un train de nuit
            la police interroge {number} témoins
            le commissaire cherche une arme
            une avocate retrouve une lettre cachée
            l'assassin laisse une clé sur la table
        """),
    ),
    Topic(
        _lines("""
            ce roman historique
            cette fresque
            l'époque décrite
            le récit
            cette chronique
        """),
        _lines("""
            l'action se passe à la cour du roi
            on y suit une famille de paysans
            la guerre dure {number} ans
            le château domine la vallée
            un soldat rentre dans son village
            la reine reçoit les ambassadeurs
        """),
    ),
    Topic(
        _lines("""
            ce recueil
            cette poésie
            la langue
            le rythme
            ce poème
        """),
        _lines("""
            les vers parlent de la mer et du vent
            il y a {number} sonnets par saison
            le poète décrit un jardin en automne
            la lune revient à chaque page
            chaque strophe évoque un oiseau
            les rimes suivent le fil des heures
        """),
    ),
    Topic(
        _lines("""
            ce livre de cuisine
            cette recette
            la présentation
            le choix des plats
            ce guide
        """),
        _lines("""
            il faut {number} œufs et de la farine
            on y prépare des soupes et des tartes
            le chef travaille à Lyon
            les desserts occupent la moitié du livre
            chaque plat cuit dans un four à bois
            les légumes viennent du marché
        """),
    ),
    Topic(
        _lines("""
            ce roman de science-fiction
            cet univers
            l'aventure
            la planète décrite
            cette saga
        """),
        _lines("""
            un vaisseau quitte la Terre pour {number} siècles
            le pilote parle avec un robot
            les machines gouvernent la cité
            une étoile change de couleur
            on y découvre {number} mondes habités
            le capitaine ouvre une porte dans le temps
        """),
    ),
    Topic(
        _lines("""
            cette biographie
            ce portrait
            le témoignage
            cette vie
            l'introduction
        """),
        _lines("""
            l'auteur raconte une enfance à Bruxelles
            on y croise {number} musiciens de jazz
            la chanteuse part en tournée
            le peintre achète une maison en Bretagne
            les lettres datent du siècle dernier
            son père était médecin de campagne
        """),
    ),
)
