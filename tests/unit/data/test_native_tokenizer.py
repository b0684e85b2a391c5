"""Training, encoding, decoding, saving: what a tokenizer of ours must do."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from greffe.config.sections import TokenizerSpec
from greffe.data import tokenizer_training
from greffe.data.native_tokenizer import SPECIALS, NativeTokenizer, train_tokenizer
from greffe.data.pieces import BYTE_PIECES, SPACE
from greffe.data.tokenizer import Tokenizer
from greffe.data.tokenizer_training import PRINTABLE, count_words
from greffe.errors import CorruptError, DataError, RunError

Kind = Literal["bpe", "unigram"]

STEMS = [
    "livre",
    "lecture",
    "roman",
    "auteur",
    "histoire",
    "personnage",
    "émotion",
    "aventure",
    "éditeur",
    "poème",
]
ENDINGS = ["", "s", "esse", "ment", "tions"]
OPENINGS = ["Ce beau", "J'adore l'heure du", "Quel ennui, qu'un", "Où est le", "1984 :"]
TEXTS = [
    f"{opening} {stem}{ending} est, n° {number}, sur {number * 37} pages !"
    for number, opening in enumerate(OPENINGS * 5)
    for stem in STEMS
    for ending in ENDINGS
]
AWKWARD = [
    "",
    " ",
    "  ",
    " a",
    "a ",
    "  a   b    c  ",
    "a\n\n\tb\r\nc",
    "\0\x01\x02\x7f",
    "<mask> <sos><eos> <pad>",
    "<0x41><0xE2><0x96><0x81>",
    "中文 テキスト русский עברית हिन्दी",
    "👩‍👩‍👧‍👦 ❤️ 1️⃣ 🇫🇷",
    "aujourd'hui l’amour 'cité'",
    "\u2028\u2029\u0085\ufeff\u200b",
    "\u0301a e\u0301 \u0301",
    "x" * 1000 + " " * 1000 + "=" * 1000,
]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(TEXTS, TokenizerSpec(kind=request.param, vocab=500))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_vocabulary_is_specials_bytes_then_learned_pieces(kind: Kind) -> None:
    trained = train_tokenizer(TEXTS, TokenizerSpec(kind=kind, vocab=500))
    assert trained.size == 500
    assert [trained.piece(id) for id in range(5)] == list(SPECIALS)
    assert [trained.piece(id) for id in range(5, 261)] == list(BYTE_PIECES)
    assert (trained.sos, trained.pad, trained.eos, trained.oov, trained.mask) == (0, 1, 2, 3, 4)
    assert all(trained.id_of(character) is not None for character in PRINTABLE)
    assert trained.id_of(SPACE) is not None
    assert trained.id_of("no such piece") is None
    learned = {trained.piece(id) for id in range(261, 500)}
    assert not any(character in piece for piece in learned for character in "\0\x01")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_frequent_words_become_one_piece(kind: Kind) -> None:
    trained = train_tokenizer(TEXTS, TokenizerSpec(kind=kind, vocab=1000))
    pieces = [trained.piece(id) for id in trained.encode("Ce beau livre est sur l'heure")]
    assert pieces == ["▁Ce", "▁beau", "▁livre", "▁est", "▁sur", "▁l'", "heure"]


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_survives(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == tokenizer.normalize(text)
    assert not {id for id in ids if id < len(SPECIALS)}
    if "\u0301" not in text:
        assert tokenizer.normalize(text) == text


def test_texts_encoded_block_by_block_are_the_same(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 2)
    texts = ["un livre", "", "deux", "trois livres", "fin"]
    found = tokenizer.encode_all(iter(texts))
    assert [ids.tolist() for ids in found] == [tokenizer.encode(text) for text in texts]


def test_encode_batch_equals_encode(tokenizer: Tokenizer) -> None:
    texts = [*AWKWARD, *TEXTS[:50], "▁a▁▁ b", *AWKWARD]
    for _ in range(2):  # the second time from memory
        batch = tokenizer.encode_batch(texts)
        assert [ids.tolist() for ids in batch] == [tokenizer.encode(text) for text in texts]
    assert {ids.dtype for ids in batch} == {np.dtype(np.uint16)}
    assert all(ids.flags.writeable for ids in batch)
    assert tokenizer.encode_batch([]) == []


def test_lowercased_reads_small_letters_with_the_same_pieces(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    small = tokenizer.lowercased()
    text = "CE BEAU Livre, L'Émotion"
    assert small.encode(text) == tokenizer.encode(text.lower()) != tokenizer.encode(text)
    assert small.encode_batch([text])[0].tolist() == small.encode(text)
    assert small.decode(small.encode(text)) == small.normalize(text) == text.lower()
    assert small.spans(text) == tokenizer.spans(text.lower())
    assert small.size == tokenizer.size
    assert small.fingerprint != tokenizer.fingerprint
    assert small.lowercased() is small
    small.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode(text) == small.encode(text)


def test_batches_of_a_lowercased_tokenizer_take_the_fast_way(tokenizer: Tokenizer) -> None:
    assert tokenizer._is_trained
    assert tokenizer.lowercased()._is_trained


def test_memory_of_words_starts_again_when_full(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.data.native_tokenizer._CACHED_CHARACTERS", 10)
    for text in TEXTS[:20]:
        assert tokenizer.encode_batch([text])[0].tolist() == tokenizer.encode(text)
    assert len(tokenizer._cache) < 20


def test_normalises_to_nfc_and_keeps_everything_else(tokenizer: Tokenizer) -> None:
    assert tokenizer.normalize("e\u0301 ▁ ﬁ½\u00a0") == "é   ﬁ½\u00a0"


def test_continuing_text_has_no_word_boundary(tokenizer: Tokenizer) -> None:
    first = tokenizer.encode("un liv")
    assert tokenizer.decode(first + tokenizer.encode("re", continues=True)) == "un livre"
    assert tokenizer.decode(first + tokenizer.encode("re")) == "un liv re"
    assert tokenizer.decode(first + tokenizer.encode(" re", continues=True)) == "un liv re"


def test_specials_are_skipped_in_decoding(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("un livre")
    wrapped = [tokenizer.sos, *ids, tokenizer.mask, tokenizer.eos, tokenizer.pad]
    assert tokenizer.decode(wrapped) == "un livre"
    assert tokenizer.decode(np.array(wrapped, np.uint16)) == "un livre"


def test_stream_waits_for_whole_characters(tokenizer: Tokenizer) -> None:
    ids = [tokenizer.sos, *tokenizer.encode("é 中😀 fin")]
    pieces = list(tokenizer.decode_stream(ids))
    assert "".join(pieces) == "é 中😀 fin"
    assert "中" in pieces and "�" not in "".join(pieces)
    broken = [tokenizer.id_of("<0xE4>"), tokenizer.id_of("a"), tokenizer.id_of("<0xB8>")]
    damaged = [id for id in broken if id is not None]
    assert "".join(tokenizer.decode_stream(damaged)) == tokenizer.decode(damaged) == "�a�"


def test_bytes_of_tokens_add_up(tokenizer: Tokenizer) -> None:
    for text in [*AWKWARD, *TEXTS[:20]]:
        expected = len((" " + tokenizer.normalize(text)).encode()) if text else 0
        assert tokenizer.token_bytes[tokenizer.encode(text)].sum() == expected
    assert tokenizer.token_bytes[: len(SPECIALS)].tolist() == [0] * len(SPECIALS)
    assert tokenizer.token_bytes.dtype == np.int32


def test_words_start_at_spaces_and_specials(tokenizer: Tokenizer) -> None:
    ids = [tokenizer.sos, *tokenizer.encode("un grand livre"), tokenizer.eos]
    assert tokenizer.starts_word[ids].sum() == 2 + 3
    assert not tokenizer.starts_word[tokenizer.id_of("a")]
    assert not tokenizer.starts_word[5]


@pytest.mark.parametrize("id", [-1, -100, 500])
def test_ids_outside_the_vocabulary_are_refused(tokenizer: Tokenizer, id: int) -> None:
    with pytest.raises(IndexError, match="outside the vocabulary"):
        tokenizer.decode([id])
    with pytest.raises(IndexError):
        tokenizer.piece(id)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_is_the_same_in_every_process(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    code = (
        "import json, sys; from greffe.config.sections import TokenizerSpec;"
        "from greffe.data.native_tokenizer import train_tokenizer;"
        "texts = json.load(open(sys.argv[1]));"
        f"print(train_tokenizer(texts, TokenizerSpec(kind={kind!r}, vocab=500)).fingerprint)"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "texts.json")],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    prints.add(train_tokenizer(iter(TEXTS), TokenizerSpec(kind=kind, vocab=500)).fingerprint)
    assert len(prints) == 1
    other = train_tokenizer(TEXTS[:-99], TokenizerSpec(kind=kind, vocab=500)).fingerprint
    assert other not in prints


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("texts", [["a"], ["aaaa"], ["中"], ["\0"], ["\n"], ["a b", "c"]])
def test_tiny_corpora_give_small_tokenizers(kind: Kind, texts: list[str]) -> None:
    trained = train_tokenizer(texts, TokenizerSpec(kind=kind, vocab=16_000))
    assert 261 < trained.size < 400
    for text in [*texts, *AWKWARD]:
        assert trained.decode(trained.encode(text)) == trained.normalize(text)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_smallest_vocabulary_holds_the_most_frequent_characters(kind: Kind) -> None:
    trained = train_tokenizer(TEXTS, TokenizerSpec(kind=kind, vocab=300))
    assert trained.size <= 300
    assert trained.id_of("e") is not None and trained.id_of("~") is None
    for text in AWKWARD:
        assert trained.decode(trained.encode(text)) == trained.normalize(text)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_large_scripts_leave_room_for_words(kind: Kind) -> None:
    signs = [chr(0x4E00 + number) for number in range(2000)]
    texts = ["".join(signs[start : start + 40]) for start in range(0, 1960, 7)]
    texts += ["日本語の本を読む"] * 50
    trained = train_tokenizer(texts, TokenizerSpec(kind=kind, vocab=1000))
    pieces = [trained.piece(id) for id in range(261, trained.size)]
    assert sum(len(piece) == 1 for piece in pieces) <= (1000 - 261) // 2
    assert any(len(piece) > 1 for piece in pieces)
    assert trained.decode(trained.encode(texts[0])) == texts[0]


def test_rare_words_are_forgotten_before_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_training, "MOST_WORDS", 50)
    monkeypatch.setattr(tokenizer_training, "_COUNTED_AT_ONCE", 500)
    words = count_words([*TEXTS[:100], *(f"rare{number}" for number in range(500))])
    assert len(words) <= 50


def test_counts_are_scaled_to_what_training_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_training, "MOST_OCCURRENCES", 1000)
    words = count_words(TEXTS)
    smaller = tokenizer_training.scaled(words)
    assert words.total() > 10_000 and smaller.total() < 1000 + len(words)
    assert smaller.keys() == words.keys() and min(smaller.values()) >= 1


@pytest.mark.parametrize("texts", [[], [""], ["", " "]])
def test_no_text_is_an_error(texts: list[str]) -> None:
    with pytest.raises(DataError, match="no text to train"):
        train_tokenizer(texts, TokenizerSpec())


@pytest.mark.parametrize("bad", ["a\ud800b", "x \udfff  y", None, 3, b"bytes", ("a", "b")])
def test_what_is_not_text_is_refused(tokenizer: Tokenizer, bad: str) -> None:
    with pytest.raises(DataError) as error:
        tokenizer.encode(bad)
    assert error.value.found is not None
    with pytest.raises(DataError):
        tokenizer.encode_batch(["fine", bad])
    with pytest.raises(DataError):
        tokenizer.normalize(bad)
    with pytest.raises(DataError):
        train_tokenizer(["fine", bad], TokenizerSpec(vocab=300))


def test_error_names_the_position_of_a_surrogate(tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match="at character 2"):
        tokenizer.encode("ab\ud800")


@pytest.mark.parametrize("character", ["a", " ", "=", "\n", "中", "\0"])
def test_a_million_characters_without_a_word_end_take_linear_time(
    tokenizer: Tokenizer, character: str
) -> None:
    def seconds(length: int) -> float:
        began = time.process_time()
        ids = tokenizer.encode_batch([character * length])[0]
        elapsed = time.process_time() - began
        assert tokenizer.token_bytes[ids].sum() == 1 + length * len(character.encode())
        return elapsed

    # Ten times the text: linear time is 10 times as long, quadratic time 100 times. The quickest
    # of some tries counts, each of another length, for a text seen before would be remembered.
    short = min(seconds(100_000 + extra) for extra in range(3))
    long = min(seconds(1_000_000 + extra) for extra in range(2))
    assert long < 40 * short


def test_save_and_load_give_the_same_tokenizer(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert len(loaded.fingerprint) == 64
    for text in AWKWARD:
        assert loaded.encode(text) == tokenizer.encode(text)
    assert os.listdir(tmp_path) == ["tokenizer.json"]


def test_fingerprint_is_of_the_content_not_its_spelling(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=3), "utf-8")
    assert Tokenizer.load(path).fingerprint == tokenizer.fingerprint


def test_failed_save_leaves_the_old_file(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="disk is full"):
        tokenizer.save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tokenizer.json"]


def test_worker_processes_get_the_same_tokenizer(tokenizer: Tokenizer) -> None:
    twin = copy.deepcopy(tokenizer)  # copies the way processes do
    assert twin.fingerprint == tokenizer.fingerprint
    assert twin.encode("<mask>") == tokenizer.encode("<mask>")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"model": 3}',
        '{"model": {"type": "BPE"}}',
        '{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}',
    ],
)
def test_other_content_is_corrupt(content: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(CorruptError, match="not a usable tokenizer") as error:
        Tokenizer.load(path)
    assert error.value.found


def test_damaged_files_are_corrupt(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(CorruptError, match="not a usable tokenizer") as error:
        Tokenizer.load(path)
    assert error.value.found == "no such file"
    tokenizer.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptError):
        Tokenizer.load(path)
    path.write_bytes(b"\xff\xfe" + whole)
    with pytest.raises(CorruptError):
        Tokenizer.load(path)
    tree = json.loads(whole)
    if tree["model"]["type"] == "BPE":
        tree["model"]["vocab"]["~extra"] = 10_000
        path.write_text(json.dumps(tree))
        with pytest.raises(CorruptError) as gap:
            Tokenizer.load(path)
        assert gap.value.found == "ids with gaps or used twice"


def test_library_alone_reads_the_file_the_same_way(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Backend

    tokenizer.save(tmp_path / "tokenizer.json")
    backend = Backend.from_file(str(tmp_path / "tokenizer.json"))
    text = "Ce beau  livre, 中😀 !"
    assert backend.encode(text).ids == tokenizer.encode(text)
    assert backend.decode(tokenizer.encode(text)) == text
    assert backend.encode("<mask>").ids == [tokenizer.mask]


def test_large_vocabularies_use_wider_ids(tokenizer: Tokenizer) -> None:
    tree = json.loads(tokenizer.__reduce__()[1][0])
    extra = [f"▁piece{number}" for number in range(70_000 - tokenizer.size)]
    if tree["model"]["type"] == "BPE":
        tree["model"]["vocab"] |= {piece: tokenizer.size + i for i, piece in enumerate(extra)}
    else:
        tree["model"]["vocab"] += [[piece, -20.0] for piece in extra]
    wide = NativeTokenizer(json.dumps(tree))
    assert wide.size == 70_000 and wide.dtype == np.uint32
    assert wide.encode_batch(["un livre"])[0].tolist() == tokenizer.encode("un livre")
