"""Equal and near texts are found, different ones are left apart."""

from __future__ import annotations

import pytest

from greffe.data import duplicates
from greffe.data.duplicates import duplicate_groups, find_duplicates
from greffe.data.words import normalize
from greffe.seeding import rng

LONG = (
    "Ce roman raconte la vie d'une famille de pêcheurs bretons pendant la guerre, et chaque "
    "chapitre suit un autre de ses membres jusqu'au retour inattendu du fils que tous croyaient "
    "perdu en mer depuis le premier hiver."
)


def test_case_punctuation_spacing_and_spelling_of_characters_do_not_count():
    decomposed = "Tre\u0300s bien"
    texts = ["Très bien", "Très bien !", "  TRÈS\tbien...", decomposed, "Très bon"]
    found = find_duplicates(texts)
    assert found.exact == [0, 0, 0, 0, 1]
    assert found.groups == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Très bon livre", "Très beau livre"),
        ("Bon", "Non"),
        ("👍", "👎"),
        ("★★★★★", "★"),
        ("!!!", "?"),
        ("5/5", "1/5"),
        ("कि", "का"),  # vowel signs are marks, not letters
        ("À lire", "A lire absolument"),
        ("", "x"),
        ("je recommande ce livre à tous", "je déconseille ce livre à tous"),
    ],
)
def test_different_short_texts_stay_apart(first, second):
    assert duplicate_groups([first, second]) == [0, 1]


def test_empty_texts_are_equal():
    assert duplicate_groups(["", "  ", "\n"]) == [0, 0, 0]
    assert duplicate_groups([]) == []


def test_a_typing_error_is_near_and_not_exact():
    texts = [LONG, LONG.replace("inattendu", "inatendu"), "Autre chose, tout à fait, que cela."]
    found = find_duplicates(texts)
    assert found.exact == [0, 1, 2]
    assert found.groups == [0, 0, 1]
    short = ["je recommande chaudement cette lecture", "je recommande chaudement cette lectures"]
    assert duplicate_groups(short) == [0, 0]


def test_a_changed_half_is_not_near():
    words = LONG.split()
    other = " ".join([*words[: len(words) // 2], *reversed(words[len(words) // 2 :])])
    assert duplicate_groups([LONG, other]) == [0, 1]


def test_near_texts_are_connected_by_way_of_others():
    words = [f"mot{number}" for number in range(60)]
    chain = [" ".join(words[start : start + 50]) for start in (0, 5, 10)]
    assert duplicate_groups([chain[0], chain[2]]) == [0, 1]
    assert duplicate_groups(chain) == [0, 0, 0]


def test_four_fifths_are_enough_and_less_is_not():
    words = [f"mot{number}" for number in range(12)]
    eight, ten = " ".join(words[:10]), " ".join(words)
    assert duplicate_groups([eight, ten]) == [0, 0], "8 of 10 runs of three words"
    assert duplicate_groups([ten, eight]) == [0, 0]
    assert duplicate_groups([eight, f"{ten} fin"]) == [0, 1], "8 of 11"


def brute_force(texts):
    """Groups by comparing every pair, with sets of Python."""

    def shingles(text):
        units = text.split() if len(text.split()) >= 8 else text
        size = 3 if len(text.split()) >= 8 else 5
        last = max(1, len(units) - size + 1)
        return len(text.split()) >= 8, {tuple(units[at : at + size]) for at in range(last)}

    plain = [normalize(text) for text in texts]
    sets = [shingles(text) for text in plain]
    groups = list(range(len(texts)))
    for first in range(len(texts)):
        for second in range(first):
            (kind, a), (other, b) = sets[first], sets[second]
            is_near = kind == other and len(a & b) >= 0.8 * len(a | b)
            if plain[first] == plain[second] or is_near:
                old, new = groups[first], groups[second]
                groups = [new if group == old else group for group in groups]
    numbers: dict[int, int] = {}
    return [numbers.setdefault(group, len(numbers)) for group in groups]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("block", [1, 50, 1 << 19])
def test_every_near_pair_is_found_and_no_other(seed, block, monkeypatch):
    monkeypatch.setattr(duplicates, "BLOCK_PAIRS", block)
    monkeypatch.setattr(duplicates, "BLOCK_SHINGLES", 8 * block)
    draw = rng(seed, "texts")
    vocabulary = ["le", "un", "livre", "film", "est", "bon", "long", "triste", "et", "vraiment"]
    texts = []
    for _ in range(25):
        words = list(draw.choice(vocabulary, int(draw.integers(1, 40))))
        texts.append(" ".join(words))
        for _ in range(int(draw.integers(0, 4))):
            words[int(draw.integers(len(words)))] = str(draw.choice(vocabulary))
            texts.append(" ".join(words))
    expected = brute_force(texts)
    assert len(texts) > len(set(expected)) > 10
    assert duplicate_groups(texts) == expected


def test_many_copies_of_a_form_are_one_group():
    texts = [f"{LONG} Numéro {number}" for number in range(2000)]
    assert set(duplicate_groups(texts)) == {0}
