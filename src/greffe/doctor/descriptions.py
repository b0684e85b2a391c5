"""What a finding means and what to do about it, in English and in French.

Knows kinds of findings and their figures, not how they are found or shown.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from greffe.doctor.finding import Finding

Language = Literal["en", "fr"]

_PARTS: dict[Language, dict[str, str]] = {
    "en": {"train": "the training part", "valid": "the validation part", "test": "the test part"},
    "fr": {
        "train": "la partie d’apprentissage",
        "valid": "la partie de validation",
        "test": "la partie de test",
    },
}
_AND: dict[Language, str] = {"en": " and ", "fr": " et "}


class Sentences(NamedTuple):
    """What was found and what to do, in both languages.

    Fields: count, total, share (count / total, unless the detail has its own), where, first and
    last of two parts, and all of the detail.
    """

    what: str
    advice: str
    what_french: str
    advice_french: str


SENTENCES: dict[str, Sentences] = {
    "leak": Sentences(
        "Texts of {last} that also stand in {first}, word for word: {count} of {total} ({share}).",
        "Take them out of {last}, or split the data anew with equal texts on one side: as they "
        "are, figures on {last} partly measure memory.",
        "Textes de {last} qui figurent aussi, mot pour mot, dans {first} : {count} sur {total} "
        "({share}).",
        "Les retirer de {last}, ou redécouper les données en gardant les textes identiques du même "
        "côté : en l’état, les chiffres sur {last} mesurent en partie la mémoire.",
    ),
    "near_leak": Sentences(
        "Texts of {last} that nearly repeat a text of {first}: {count} of {total} ({share}).",
        "Compare some pairs; if they are one text with small changes, treat them as the same and "
        "keep them on one side.",
        "Textes de {last} presque identiques à un texte de {first} : {count} sur {total} "
        "({share}).",
        "Comparer quelques paires ; si c’est un même texte à peine modifié, le garder d’un seul "
        "côté.",
    ),
    "corpus_overlap": Sentences(
        "Texts of {where} that share a run of {run} words with the pretraining corpus: {count} of "
        "{total} ({share}), with {covered} of their words.",
        "The base has read them in part. Take these documents out of the corpus and pretrain "
        "again, or state it beside the figures.",
        "Textes de {where} qui partagent une suite de {run} mots avec le corpus de "
        "préentraînement : {count} sur {total} ({share}), soit {covered} de leurs mots.",
        "La base les a lus en partie. Retirer ces documents du corpus et recommencer le "
        "préentraînement, ou le signaler à côté des chiffres.",
    ),
    "one_class": Sentences(
        "{where} answers “{label}” for {count} of {total} test texts ({share}).",
        "It has learnt one answer and not the task: try a smaller learning rate or more epochs, "
        "and look at the balance and the order of the labels.",
        "{where} répond « {label} » pour {count} des {total} textes de test ({share}).",
        "Le modèle a appris une réponse et non la tâche : essayer un pas d’apprentissage plus "
        "petit ou plus d’époques, et vérifier l’équilibre et l’ordre des étiquettes.",
    ),
    "contradiction": Sentences(
        "Texts that carry more than one label: {texts}, on {count} of {total} rows, in {where}.",
        "Settle on one label or drop them: nothing can be learnt from them, and no model can be "
        "right on all their copies.",
        "Textes qui portent plus d’une étiquette : {texts}, sur {count} des {total} lignes, dans "
        "{where}.",
        "Choisir une étiquette ou les retirer : on n’en apprend rien, et aucun modèle ne peut "
        "avoir raison sur toutes leurs copies.",
    ),
    "imbalance": Sentences(
        "The class “{label}” has {count} of {total} texts of {where} ({share}).",
        "To answer “{label}” always would be right that often: compare accuracies with it, and "
        "read macro F1 as well.",
        "La classe « {label} » a {count} des {total} textes de {where} ({share}).",
        "Répondre toujours « {label} » serait aussi souvent juste : comparer l’exactitude à cette "
        "valeur, et lire aussi la macro-F1.",
    ),
    "rare_class": Sentences(
        "The class “{label}” has only {count} of {total} texts of {where} ({share}).",
        "Look at its own row of the results; more texts of it, or merging it with another class, "
        "would help.",
        "La classe « {label} » n’a que {count} des {total} textes de {where} ({share}).",
        "Regarder sa propre ligne dans les résultats ; davantage de ses textes, ou la fusionner "
        "avec une autre classe, aiderait.",
    ),
    "few_labels": Sentences(
        "Classes with fewer than {fewest} texts in {where}: {count} of {total}; “{label}” has "
        "{texts}.",
        "Label more texts of them: with so few, results change a lot from seed to seed.",
        "Classes de moins de {fewest} textes dans {where} : {count} sur {total} ; « {label} » en a "
        "{texts}.",
        "En étiqueter davantage : avec si peu, les résultats changent beaucoup d’une graine à "
        "l’autre.",
    ),
    "unseen_class": Sentences(
        "Classes of {where} that {other} has not: {count} of {total}, such as “{label}”, with "
        "{texts} texts.",
        "They cannot be learnt and always count as errors: add texts of them to {other}, or take "
        "them out; if it is a spelling, unify it.",
        "Classes de {where} absentes de {other} : {count} sur {total}, comme « {label} », avec "
        "{texts} textes.",
        "Elles ne peuvent être apprises et comptent toujours comme erreurs : en ajouter des textes "
        "à {other}, ou les retirer ; si c’est une graphie, l’unifier.",
    ),
    "untested_class": Sentences(
        "Classes of {where} that no other part has: {count} of {total}, such as “{label}”, with "
        "{texts} texts.",
        "Nothing will be said of them: split the data anew by class, or take them out.",
        "Classes de {where} qu’aucune autre partie n’a : {count} sur {total}, comme « {label} », "
        "avec {texts} textes.",
        "Rien n’en sera dit : redécouper les données par classe, ou les retirer.",
    ),
    "order": Sentences(
        "The labels of {where} stand in blocks. Changes from one row to the next: {count}; in "
        "shuffled rows about {expected}.",
        "greffe shuffles while it trains. Do not cut the file by rows, and shuffle it before other "
        "tools read it.",
        "Les étiquettes de {where} sont rangées par blocs. Changements d’une ligne à la suivante : "
        "{count} ; dans des lignes mélangées, environ {expected}.",
        "greffe mélange pendant l’apprentissage. Ne pas couper le fichier par lignes, et le "
        "mélanger avant de le donner à d’autres outils.",
    ),
    "long_texts": Sentences(
        "Texts of {where} longer than the context of {context} tokens: {count} of {total}. "
        "Beyond it stand {cut} of all tokens.",
        "Training reads their beginning alone; prediction reads them by windows. A base with a "
        "longer context reads more: --set model.context=… when it is pretrained.",
        "Textes de {where} plus longs que le contexte de {context} jetons : {count} sur {total}. "
        "Au-delà se trouvent {cut} de tous les jetons.",
        "L’apprentissage n’en lit que le début ; la prédiction les lit par fenêtres. Une base au "
        "contexte plus long lit davantage : --set model.context=… lors du préentraînement.",
    ),
    "unknown_script": Sentences(
        "Texts of {where} with many letters that the vocabulary has not ({scripts}): {count} of "
        "{total} ({share}).",
        "The base never learnt to read them: pretrain on text of that language with a tokenizer "
        "of its own, or take them out.",
        "Textes de {where} dont beaucoup de lettres manquent au vocabulaire ({scripts}) : {count} "
        "sur {total} ({share}).",
        "La base n’a jamais appris à les lire : préentraîner sur des textes de cette langue avec "
        "leur propre vocabulaire, ou les retirer.",
    ),
    "duplicates": Sentences(
        "Texts of {where} that repeat an earlier one, word for word: {count} of {total} ({share}).",
        "Harmless if they are few; each copy weighs as much as a text of its own. Drop them if "
        "they came in by mistake.",
        "Textes de {where} qui en répètent un précédent, mot pour mot : {count} sur {total} "
        "({share}).",
        "Sans gravité s’ils sont rares ; chaque copie pèse autant qu’un texte. Les retirer s’ils "
        "sont là par erreur.",
    ),
    "near_duplicates": Sentences(
        "Texts of {where} that nearly repeat another one: {count} of {total} ({share}).",
        "Harmless if they are few; keep them on one side of any split.",
        "Textes de {where} qui en répètent presque un autre : {count} sur {total} ({share}).",
        "Sans gravité s’ils sont rares ; les garder du même côté de tout découpage.",
    ),
    "short_texts": Sentences(
        "Texts of {where} that are empty or a single word: {count} of {total} ({empty} empty).",
        "Look whether the right column was read, and drop what says nothing.",
        "Textes de {where} vides ou d’un seul mot : {count} sur {total} (dont {empty} vides).",
        "Vérifier que la bonne colonne a été lue, et retirer ce qui ne dit rien.",
    ),
}


def describe(finding: Finding, language: Language = "en") -> tuple[str, str]:
    """What was found, and what to do."""
    said = SENTENCES[finding.kind]
    what, advice = said[:2] if language == "en" else said[2:]
    names = [_PARTS[language].get(name, name) for name in finding.where.split(" and ")]
    other = finding.detail.get("other")
    figures: dict[str, str | int | float] = {
        "share": finding.count / finding.total if finding.total else 0.0,
        **finding.detail,
        "count": finding.count,
        "total": finding.total,
        "where": _AND[language].join(names),
        "first": names[0],
        "last": names[-1],
        "other": _PARTS[language].get(str(other), str(other)),
    }
    fields = {name: _shown(value, language) for name, value in figures.items()}
    return what.format_map(fields), advice.format_map(fields)


def _shown(value: str | int | float, language: Language) -> str:
    """A number with its marks, a share in per cent."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}" if language == "en" else f"{value:,}".replace(",", "\u202f")
    text = f"{value:.1%}"
    return text if language == "en" else text.replace(".", ",").replace("%", "\u202f%")
