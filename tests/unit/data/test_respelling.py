"""Pieces of one vocabulary in another's."""

from __future__ import annotations

import pytest

from greffe.config import TokenizerSpec
from greffe.data.respelling import respell
from greffe.data.tokenizer import Tokenizer, train_tokenizer

OLD = ["le petit roman du petit chat", "la pluie et le vent"] * 30
NEW = ["un roman passionnant, vraiment passionnant !", "le vent passionne l'été"] * 30


def tokenizer(texts: list[str], vocab: int, lowercase: bool = False) -> Tokenizer:
    return train_tokenizer(texts, TokenizerSpec(vocab=vocab, lowercase=lowercase))


@pytest.fixture(scope="module")
def old() -> Tokenizer:
    return tokenizer(OLD, 420)


@pytest.fixture(scope="module")
def new() -> Tokenizer:
    return tokenizer(NEW, 440)


def test_a_piece_of_both_is_spelt_by_itself(new: Tokenizer, old: Tokenizer) -> None:
    spellings = respell(new, old)
    shared = [id for id in range(new.size) if old.id_of(new.piece(id)) is not None]
    assert len(shared) > 256  # the bytes are, at least
    assert new.id_of("▁roman") in shared
    for id in shared:
        assert [new.piece(id)] == [old.piece(spelt) for spelt in spellings[id]]


def test_other_pieces_are_spelt_letter_by_letter_or_better(new: Tokenizer, old: Tokenizer) -> None:
    spellings = respell(new, old)
    word = new.id_of("▁passionnant")
    assert word is not None and old.id_of("▁passionnant") is None
    assert old.decode(spellings[word]) == "passionnant"
    # Inside a word no space is put before it; at its beginning there is one.
    assert old.piece(spellings[word][0]).startswith("▁")
    inner = next(
        id
        for id in range(new.size)
        if not new.starts_word[id] and len(new.piece(id)) > 1 and len(spellings[id]) > 1
    )
    assert not old.piece(spellings[inner][0]).startswith("▁")
    assert old.decode(spellings[inner]) == new.piece(inner)


def test_specials_are_their_own_kind(new: Tokenizer, old: Tokenizer) -> None:
    spellings = respell(new, old)
    names = ("sos", "pad", "eos", "oov", "mask")
    for name in names:
        assert spellings[getattr(new, name)] == [getattr(old, name)]


def test_every_piece_is_spelt_and_the_same_vocabulary_by_itself(
    new: Tokenizer, old: Tokenizer
) -> None:
    assert all(respell(new, old)) and all(respell(old, new))
    assert respell(old, old) == [[id] for id in range(old.size)]


def test_a_tokenizer_can_be_trained_to_small_letters() -> None:
    shouting = [text.upper() for text in NEW]
    plain, small = (tokenizer(shouting, 440, lowercase) for lowercase in (False, True))
    assert plain.id_of("▁PASSIONNANT") is not None and not plain.lowercases
    assert small.id_of("▁passionnant") is not None and small.lowercases
    assert small.id_of("▁PASSIONNANT") is None
    assert small.decode(small.encode("Un ROMAN")) == "un roman"
