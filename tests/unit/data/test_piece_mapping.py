"""Pieces of one vocabulary in another's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.data.foreign import KINDS, TEXTS, read

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import NativeTokenizer, train_tokenizer
from greffe.data.piece_mapping import map_pieces, shared_pieces
from greffe.data.pieces import LOWERCASE, SPACE, Step
from greffe.data.tokenizer import Tokenizer

OLD = ["le petit roman du petit chat", "la pluie et le vent"] * 30
NEW = ["un roman passionnant, vraiment passionnant !", "le vent passionne l'été"] * 30


def tokenizer(texts: list[str], vocab: int, *letters: Step) -> Tokenizer:
    return train_tokenizer(texts, TokenizerSpec(vocab=vocab), letters)


@pytest.fixture(scope="module")
def old() -> Tokenizer:
    return tokenizer(OLD, 420)


@pytest.fixture(scope="module")
def new() -> Tokenizer:
    return tokenizer(NEW, 440)


def test_a_piece_of_both_is_spelt_by_itself(new: Tokenizer, old: Tokenizer) -> None:
    spellings = map_pieces(new, old)
    shared = [id for id in range(new.size) if old.id_of(new.piece(id)) is not None]
    assert len(shared) > 256  # the bytes are, at least
    assert new.id_of("▁roman") in shared
    for id in shared:
        assert [new.piece(id)] == [old.piece(spelt) for spelt in spellings[id]]
    found = shared_pieces(new, old, spellings)
    assert [id for id in range(new.size) if found[id]] == shared


def test_a_shortened_word_is_itself_though_it_is_never_read_alone() -> None:
    both = [tokenizer([f"l'amour et l'{word}"] * 40, 320) for word in ("eau", "ombre")]
    first, second = (one.id_of("▁l'") for one in both)
    assert first is not None and second is not None
    assert both[1].encode("l'") != [second]
    assert map_pieces(*both)[first] == [second]


def test_other_pieces_are_spelt_letter_by_letter_or_better(new: Tokenizer, old: Tokenizer) -> None:
    spellings = map_pieces(new, old)
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
    spellings = map_pieces(new, old)
    names = ("sos", "pad", "eos", "oov", "mask")
    for name in names:
        assert spellings[getattr(new, name)] == [getattr(old, name)]


def test_every_piece_is_spelt_and_the_same_vocabulary_by_itself(
    new: Tokenizer, old: Tokenizer
) -> None:
    assert all(map_pieces(new, old)) and all(map_pieces(old, new))
    assert map_pieces(old, old) == [[id] for id in range(old.size)]


def test_spaces_are_neither_lost_nor_added(old: Tokenizer) -> None:
    wide = tokenizer([f"un{' ' * 6}deux{' ' * 6}trois"] * 40, 330)
    spaces = [id for id in range(wide.size) if set(wide.piece(id)) == {SPACE}]
    assert max(len(wide.piece(id)) for id in spaces) > 2
    for spellings, known in ((map_pieces(wide, old), old), (map_pieces(old, wide), wide)):
        for ids in spellings:
            assert known.oov not in ids or ids == [known.oov]
    spellings = map_pieces(wide, old)
    for id in spaces:
        assert "".join(old.piece(spelt) for spelt in spellings[id]) == wide.piece(id)


def test_an_old_vocabulary_that_puts_no_space_before_a_text(new: Tokenizer, old: Tokenizer) -> None:
    tree = json.loads(old._content)
    steps = tree["normalizer"]["normalizers"]
    tree["normalizer"]["normalizers"] = [step for step in steps if step["type"] != "Prepend"]
    assert map_pieces(new, NativeTokenizer(json.dumps(tree))) == map_pieces(new, old)


def test_what_the_other_never_reads_is_not_shared(old: Tokenizer) -> None:
    cased = tokenizer(["Le Roman de Pierre"] * 40, 320)
    capital = cased.id_of("▁Roman")
    assert capital is not None
    reads_small = cased.lowercased()
    spellings = map_pieces(cased, reads_small)
    assert reads_small.decode(spellings[capital]) == "roman"
    assert not shared_pieces(cased, reads_small, spellings)[capital]


def test_a_tokenizer_can_be_trained_to_small_letters() -> None:
    shouting = [text.upper() for text in NEW]
    plain, small = tokenizer(shouting, 440), tokenizer(shouting, 440, LOWERCASE)
    assert plain.id_of("▁PASSIONNANT") is not None and not plain.lowercases
    assert small.id_of("▁passionnant") is not None and small.lowercases
    assert small.id_of("▁PASSIONNANT") is None
    assert small.decode(small.encode("Un ROMAN")) == "un roman"
    assert (plain.character_steps, small.character_steps) == ([], [LOWERCASE])


def test_letters_are_changed_before_words_are_counted() -> None:
    apostrophe: Step = {"type": "Replace", "pattern": {"String": "’"}, "content": "'"}
    texts = ["l’amour et l’été, qu’il dit"] * 40
    plain, straight = tokenizer(texts, 330), tokenizer(texts, 330, apostrophe, LOWERCASE)
    assert plain.id_of("▁l’") is not None
    assert straight.id_of("▁l'") is not None and straight.id_of("▁l’") is None
    assert straight.decode(straight.encode("L’amour")) == "l'amour"
    assert straight.character_steps == [apostrophe, LOWERCASE]
    assert straight.encode_batch(["L’amour d’antan"])[0].tolist() == straight.encode(
        "L’amour d’antan"
    )


# --- from the tokenizers of other models ----------------------------------------------------------


FOREIGN = {
    "wordpiece": {
        "▁livre": ["livre"],
        "▁LIVRE": ["livre"],
        "vre": ["##vre"],
        "▁l'": ["l", "'"],
        ",": [","],
        "▁écrit": ["ecrit"],
        "<0xC3>": ["[UNK]"],
        "▁▁": ["[UNK]"],
    },
    "wordpiece cased": {"▁livre": ["livre"], "vre": ["##vre"], "▁bienre": ["bien", "##re"]},
    "roberta": {
        "▁livre": ["Ġlivre"],
        "▁": ["Ġ"],
        "re": ["re"],
        ",": [","],
        "<0xC3>": ["Ã"],
        "é": ["Ã", "©"],
        "▁▁": ["Ġ", "Ġ"],
    },
    "roberta with space": {"▁livre": ["Ġlivre"], "re": ["re"], ",": [","]},
    "gpt2": {"▁livre": ["Ġlivre"], "re": ["re"], "<0x41>": ["A"]},
    "llama": {"▁livre": ["▁livre"], "re": ["re"], "<0xC3>": ["<0xC3>"], "▁": ["▁"]},
    "llama legacy": {"▁livre": ["▁livre"], "re": ["re"], "☃": ["<0xE2>", "<0x98>", "<0x83>"]},
    "unigram": {"▁un": ["▁", "u", "n"], "e": ["e"], "<0xC3>": ["<unk>"], "ﬁ": ["f", "i"]},
    "word level": {"▁livre": ["livre"], ",": [","], "▁zzz": ["[UNK]"]},
}


@pytest.mark.parametrize("kind", list(FOREIGN))
def test_pieces_of_greffe_in_a_vocabulary_of_another_kind(kind: str, tmp_path: Path) -> None:
    other = read(tmp_path, KINDS[kind]())
    spelled = {piece: [other.piece(id) for id in other.spell(piece)] for piece in FOREIGN[kind]}
    assert spelled == FOREIGN[kind]


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_piece_has_an_old_one(kind: str, tmp_path: Path) -> None:
    other = read(tmp_path, KINDS[kind]())
    native = tokenizer([*TEXTS, *NEW], 500)
    mapping = map_pieces(native, other)
    assert all(ids and 0 <= min(ids) <= max(ids) < other.size for ids in mapping)
    roles = ("sos", "pad", "eos", "oov", "mask")
    assert [mapping[getattr(native, role)] for role in roles] == [
        [getattr(other, role)] for role in roles
    ]
    shared = shared_pieces(native, other, mapping)
    texts = {id: native.text_of(id) for id in range(native.size) if shared[id]}
    if kind != "suffixed":  # its pieces have the space after the word
        assert len([text for text in texts.values() if text]) > 10
        # Bytes of incomplete characters are spelled one by one.
        same = map_pieces(other, other)
        ordinary = [id for id in range(other.size) if id not in other.specials]
        assert sum(same[id] == [id] for id in ordinary) > 0.8 * len(ordinary)
    assert all(text is None or other.text_of(mapping[id][0]) == text for id, text in texts.items())
    back = map_pieces(other, native)
    assert all(ids and 0 <= min(ids) <= max(ids) < native.size for ids in back)
