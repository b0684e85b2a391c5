from __future__ import annotations

import json
import re

import pytest
from tokenizers import models, normalizers

from greffe.data.pieces import (
    LOWERCASE,
    SPACE,
    SPECIALS,
    adds_space,
    any_of,
    apply_character_steps,
    assemble,
    canonical,
    is_character_step,
    is_known_pattern,
    is_splittable,
    normalizer_steps,
    trained_normalizer,
    trained_splitter,
    without_space,
)

APOSTROPHE = {"type": "Replace", "pattern": {"String": "’"}, "content": "'"}


def split(text: str) -> list[str]:
    normal = trained_normalizer().normalize_str(text)
    return [piece for piece, _ in trained_splitter().pre_tokenize_str(normal)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("un livre", ["▁un", "▁livre"]),
        ("l'amour qu’il a", ["▁l'", "amour", "▁qu’", "il", "▁a"]),
        ("la fin' !", ["▁la", "▁fin", "'", "▁!"]),
        ("12345 fois", ["▁123", "45", "▁fois"]),
        ("a  b", ["▁a", "▁", "▁b"]),
        ("a\nb", ["▁a", "\n", "b"]),
    ],
)
def test_how_text_is_split(text: str, words: list[str]) -> None:
    assert split(text) == words


def test_an_endless_word_is_split_too() -> None:
    words = split("a" * 1000)
    assert "".join(words) == SPACE + "a" * 1000
    assert max(map(len, words)) <= 65


@pytest.mark.parametrize("text", ["un livre", "l'été, c'est 2024 !", "a\nb c"])
def test_parts_of_splittable_text_give_the_same_words(text: str) -> None:
    assert is_splittable(text)
    assert split(text) == [word for part in text.split(" ") for word in split(part)]


@pytest.mark.parametrize("text", ["a  b", "a▁b"])
def test_text_with_several_spaces_or_a_literal_mark_is_not_splittable(text: str) -> None:
    assert not is_splittable(text)


def test_the_space_before_the_text_can_be_left_out() -> None:
    normalizer = trained_normalizer()
    assert adds_space(normalizer)
    assert normalizer.normalize_str("un livre") == "▁un▁livre"
    continuing = without_space(normalizer)
    assert not adds_space(continuing)
    assert continuing.normalize_str("un livre") == "un▁livre"
    assert not adds_space(None)
    assert not adds_space(normalizers.NFC())


def test_character_steps() -> None:
    assert is_character_step(LOWERCASE) and is_character_step(APOSTROPHE)
    for content, pattern in (("''", "’"), (" ", "’"), ("'", SPACE), ("'", "")):
        step = {"type": "Replace", "pattern": {"String": pattern}, "content": content}
        assert not is_character_step(step)
    assert not is_character_step({"type": "NFC"})
    assert apply_character_steps("L’ÉTÉ", [APOSTROPHE, LOWERCASE]) == "l'été"
    assert apply_character_steps("L’ÉTÉ", []) == "L’ÉTÉ"


def test_an_assembled_tokenizer_has_the_given_steps() -> None:
    model = models.BPE(
        vocab={piece: number for number, piece in enumerate((*SPECIALS, "▁", "a"))},
        merges=[],
        unk_token="<oov>",
    )
    tree = json.loads(assemble(model, trained_normalizer(), trained_splitter(), SPECIALS))
    assert [step["type"] for step in normalizer_steps(tree)] == [
        *("NFC", "Replace", "Replace", "Prepend")
    ]
    assert {token["content"] for token in tree["added_tokens"]} == set(SPECIALS)
    assert normalizer_steps({"normalizer": None}) == []
    assert normalizer_steps({"normalizer": LOWERCASE}) == [LOWERCASE]


def test_equal_contents_have_one_canonical_form() -> None:
    assert canonical({"b": 1, "é": [2]}) == canonical({"é": [2], "b": 1}) == '{"b":1,"é":[2]}'


@pytest.mark.parametrize("texts", [["a.b", "(x)", "é|ü"], ["\n", "▁▁"], ["$1", "\\d"]])
def test_a_choice_of_texts_is_a_known_pattern(texts: list[str]) -> None:
    pattern = any_of(texts)
    assert is_known_pattern(pattern)
    assert all(re.fullmatch(pattern, text) for text in texts)


@pytest.mark.parametrize("pattern", ["(a*)*b", "a+", "[ab]", "a|", "", r"\d", r"a\A", "a{2}"])
def test_other_patterns_are_unknown(pattern: str) -> None:
    assert not is_known_pattern(pattern)
