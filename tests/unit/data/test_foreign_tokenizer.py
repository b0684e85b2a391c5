"""Tokenizers of other models: what the rest of greffe asks of any tokenizer."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.data.foreign import KINDS, gpt2, llama, modern, read, roberta, unigram, wordpiece

from greffe.config.sections import TokenizerSpec
from greffe.data.encoding import encode_documents
from greffe.data.foreign_tokenizer import ForeignTokenizer
from greffe.data.native_tokenizer import NativeTokenizer, train_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, DataError, MismatchError

TEXT = "Un livre, le relire."


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    return {
        name: read(tmp_path_factory.mktemp("kind"), make(), rows=510)
        for name, make in KINDS.items()
    }


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest, all_kinds: dict[str, Tokenizer]) -> Tokenizer:
    return all_kinds[request.param]


def known(tokenizer: Tokenizer, piece: str) -> int:
    id = tokenizer.id_of(piece)
    assert id is not None, piece
    return id


def test_it_is_the_same_after_saving_and_in_another_process(
    kind: Tokenizer, tmp_path: Path
) -> None:
    kind.save(tmp_path / "tokenizer.json")
    for other in (Tokenizer.load(tmp_path / "tokenizer.json"), copy.deepcopy(kind)):
        assert isinstance(other, ForeignTokenizer)
        assert other.fingerprint == kind.fingerprint
        assert other.encode(TEXT) == kind.encode(TEXT)
        assert other.wrap([9]).tolist() == kind.wrap([9]).tolist()


def test_the_order_of_keys_changes_nothing(kind: Tokenizer, tmp_path: Path) -> None:
    kind.save(tmp_path / "tokenizer.json")
    tree = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    (tmp_path / "tokenizer.json").write_text(json.dumps(tree, sort_keys=True), "utf-8")
    assert Tokenizer.load(tmp_path / "tokenizer.json").fingerprint == kind.fingerprint


def test_rows_without_a_piece_are_never_text(kind: Tokenizer) -> None:
    assert kind.size == 510
    unused = 509
    assert unused in kind.specials
    assert kind.piece(unused) == "" and kind.text_of(unused) is None
    assert kind.plain_pieces(unused) == []
    assert kind.token_bytes[unused] == 0
    assert kind.decode([unused, *kind.encode(TEXT)]) == kind.normalize(TEXT)
    for outside in (-1, 510):
        with pytest.raises(IndexError):
            kind.decode([outside])


def test_what_is_not_text_is_an_error(kind: Tokenizer) -> None:
    for bad in (7, None, "a\ud800"):
        with pytest.raises(DataError):
            kind.encode(bad)  # type: ignore[arg-type]
        with pytest.raises(DataError) as caught:
            kind.encode_batch(["a", bad])  # type: ignore[list-item]
        assert caught.value.found
        with pytest.raises(DataError):
            kind.spans(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("wordpiece", ["[CLS]", "[SEP]"]),
        ("roberta", ["<s>", "</s>"]),
        ("modern", ["[CLS]", "[SEP]"]),
        ("unigram", ["<s>", "</s>"]),
        ("llama", ["<s>"]),
        ("gpt2", ["<|endoftext|>"]),  # no template, but a row is never empty
    ],
)
def test_a_row_follows_the_template(
    all_kinds: dict[str, Tokenizer], name: str, row: list[str]
) -> None:
    tokenizer = all_kinds[name]
    assert [tokenizer.piece(id) for id in tokenizer.wrap([]).tolist()] == row
    assert tokenizer.begin([]) == [tokenizer.wrap([])[0]]
    ids = tokenizer.encode(TEXT)
    inside = len(tokenizer.prefix)
    assert tokenizer.wrap(ids)[inside : inside + len(ids)].tolist() == ids
    assert tokenizer.begin(ids) == [*tokenizer.prefix, *ids]


def test_roles_that_are_missing_have_substitutes(all_kinds: dict[str, Tokenizer]) -> None:
    def roles(name: str) -> list[str]:
        one = all_kinds[name]
        return [one.piece(id) for id in (one.sos, one.pad, one.eos, one.oov, one.mask)]

    assert roles("wordpiece") == ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    assert roles("roberta") == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    assert roles("gpt2") == ["<|endoftext|>"] * 5
    assert roles("llama") == ["<s>", "</s>", "</s>", "<unk>", "<unk>"]


@pytest.mark.parametrize(
    ("name", "decoded"),
    [
        ("wordpiece", "un livre, le relire."),
        ("wordpiece cased", TEXT),
        ("roberta", TEXT),
        ("roberta with space", TEXT),
        ("gpt2", TEXT),
        ("modern", TEXT),
        ("llama", TEXT),
        ("llama legacy", TEXT),
        ("unigram", TEXT),
        ("word level", TEXT),
    ],
)
def test_decoded_text_has_its_spaces(
    all_kinds: dict[str, Tokenizer], name: str, decoded: str
) -> None:
    tokenizer = all_kinds[name]
    ids = tokenizer.encode(TEXT)
    assert tokenizer.decode(ids) == decoded
    assert tokenizer.decode(np.array(ids, tokenizer.dtype)) == decoded
    assert tokenizer.decode(tokenizer.wrap(ids)) == decoded
    assert "".join(tokenizer.decode_stream(ids)) == decoded
    assert tokenizer.decode([]) == "" and list(tokenizer.decode_stream([])) == []


def test_bytes_of_tokens_add_up_to_the_text(all_kinds: dict[str, Tokenizer]) -> None:
    text = "Le livre 書 ❤️, читать"
    size = len(text.encode())
    for name, added in (("gpt2", 0), ("modern", 0), ("llama", 1), ("llama legacy", 1)):
        tokenizer = all_kinds[name]
        assert tokenizer.token_bytes[tokenizer.encode(text)].sum() == size + added, name
    cased = all_kinds["wordpiece cased"]
    # One more for the space that each word has before it; ## and signs have none.
    pieces = ("livre", "##re", ",", "[CLS]")
    assert [int(cased.token_bytes[known(cased, piece)]) for piece in pieces] == [6, 2, 1, 0]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("wordpiece", {"livre": " livre", "##re": "re", ",": ",", "[CLS]": None}),
        ("gpt2", {"Ġlivre": " livre", "re": "re", "Ã": None, "<|endoftext|>": None}),
        ("llama", {"▁livre": " livre", "re": "re", "<0xC3>": None, "<0x41>": "A", "<s>": None}),
        ("word level", {"livre": " livre", ",": ","}),
        ("modern", {"    ": "    ", "Ġlivre": " livre"}),
    ],
)
def test_a_piece_stands_for_text(
    all_kinds: dict[str, Tokenizer], name: str, texts: dict[str, str | None]
) -> None:
    tokenizer = all_kinds[name]
    assert {piece: tokenizer.text_of(known(tokenizer, piece)) for piece in texts} == texts


def test_what_begins_a_word(all_kinds: dict[str, Tokenizer]) -> None:
    def starts(name: str, *pieces: str) -> list[bool]:
        tokenizer = all_kinds[name]
        return [bool(tokenizer.starts_word[known(tokenizer, piece)]) for piece in pieces]

    assert starts("wordpiece", "livre", "##re", "[CLS]") == [True, False, True]
    assert starts("gpt2", "Ġlivre", "re", "<|endoftext|>") == [True, False, True]
    assert starts("llama", "▁livre", "re", "<s>") == [True, False, True]
    assert starts("modern", "    ", "re") == [True, False]


def test_words_of_one_piece(all_kinds: dict[str, Tokenizer]) -> None:
    for name in ("wordpiece", "gpt2", "llama", "modern", "word level"):
        tokenizer = all_kinds[name]
        id = tokenizer.word_id("livre")
        assert id is not None and tokenizer.text_of(id) == " livre", name
        assert tokenizer.word_id("antikonstitutionell") is None, name
    lower, cased = all_kinds["wordpiece"], all_kinds["wordpiece cased"]
    assert lower.word_id("LIVRE") == lower.word_id("livre")
    assert cased.word_id("LIVRE") is None


def test_masks_take_the_space_before_them_where_their_token_does(tmp_path: Path) -> None:
    tokenizer = read(tmp_path, roberta())
    masked = tokenizer.encode_around_masks(["Un ", ", le re", "."])
    assert [tokenizer.piece(masked.ids[index]) for index in masked.masks] == ["<mask>"] * 2
    assert masked.begins_word == [True, False]
    assert "Ġ" not in [tokenizer.piece(id) for id in masked.ids]


def test_a_mask_after_a_space_of_its_own_token_continues_it(tmp_path: Path) -> None:
    tokenizer = read(tmp_path, gpt2())
    masked = tokenizer.encode_around_masks(["Un ", "."])
    assert tokenizer.piece(masked.ids[masked.masks[0] - 1]) == "Ġ"
    assert masked.begins_word == [False]


def test_a_mask_at_the_start_begins_a_word_unless_texts_do_not(tmp_path: Path) -> None:
    for make, begins in ((wordpiece, True), (unigram, True), (roberta, False), (modern, False)):
        tokenizer = read(tmp_path / make.__name__, make())
        assert tokenizer.encode_around_masks(["", " est"]).begins_word == [begins], make.__name__


def test_a_mask_that_no_text_spells_is_put_between_the_parts(tmp_path: Path) -> None:
    """Without an entry among the added tokens, [MASK] in a text is text."""
    tree = json.loads(wordpiece().to_str())
    tree["added_tokens"] = []
    content = {"greffe": {"roles": {"cls": "[CLS]", "mask": "[MASK]"}, "vocab": 300}, **tree}
    tokenizer = ForeignTokenizer(json.dumps(content))
    assert tokenizer.mask not in tokenizer.encode("[MASK]")
    masked = tokenizer.encode_around_masks(["un ", " livre"])
    assert masked.ids == [*tokenizer.encode("un "), tokenizer.mask, *tokenizer.encode(" livre")]
    assert masked.begins_word == [True]


def test_specials_in_a_text_are_specials(all_kinds: dict[str, Tokenizer]) -> None:
    for name, special in (("wordpiece", "[SEP]"), ("roberta", "</s>"), ("gpt2", "<|endoftext|>")):
        tokenizer = all_kinds[name]
        assert tokenizer.eos in tokenizer.encode(f"Un livre {special} le livre")
        assert tokenizer.piece(tokenizer.eos) == special


def test_lowercasing(all_kinds: dict[str, Tokenizer]) -> None:
    for name, tokenizer in all_kinds.items():
        assert tokenizer.lowercases == (name in ("wordpiece", "suffixed")), name
        lower = tokenizer.lowercased()
        assert lower.lowercases and lower.character_steps == [{"type": "Lowercase"}]
        assert (lower is tokenizer) == tokenizer.lowercases
        assert (lower.fingerprint == tokenizer.fingerprint) == tokenizer.lowercases
        assert lower.encode("UN LIVRE") == tokenizer.encode("un livre")
        assert lower.size == tokenizer.size and lower.mask == tokenizer.mask


def test_folded_text_has_the_characters_of_the_pieces(all_kinds: dict[str, Tokenizer]) -> None:
    assert all_kinds["wordpiece"].fold("Été") == "ete"
    assert all_kinds["gpt2"].fold("Été") == "Été"
    assert all_kinds["unigram"].fold("ﬁn  Ⅳ") == "fin IV"


def test_documents_of_a_corpus_have_both_ends(all_kinds: dict[str, Tokenizer]) -> None:
    tokenizer = all_kinds["gpt2"]
    encoded = encode_documents(tokenizer, ["Un livre", ""])
    ids = tokenizer.encode("Un livre")
    assert encoded.tokens.tolist() == [tokenizer.sos, *ids, tokenizer.eos, 0, 0]
    assert encoded.lengths.tolist() == [len(ids) + 2, 2]


def test_types_follow_the_rows(tmp_path: Path) -> None:
    assert read(tmp_path / "a", llama(), rows=65_535).dtype == np.uint16
    assert read(tmp_path / "b", llama(), rows=65_536).dtype == np.uint32


def test_a_native_tokenizer_with_a_piece_of_this_name_stays_native(tmp_path: Path) -> None:
    native = train_tokenizer(["xgreffe la greffe"] * 60, TokenizerSpec(vocab=400))
    assert native.id_of("greffe") is not None
    native.save(tmp_path / "tokenizer.json")
    assert '"greffe"' in (tmp_path / "tokenizer.json").read_text("utf-8")
    assert isinstance(Tokenizer.load(tmp_path / "tokenizer.json"), NativeTokenizer)


def test_damage_to_what_greffe_added_is_an_error(tmp_path: Path) -> None:
    tree = json.loads(wordpiece().to_str())
    good = {"roles": {"cls": "[CLS]", "sep": "[SEP]"}, "vocab": 300}
    assert ForeignTokenizer(json.dumps({"greffe": good, **tree})).size == 300
    for bad in (
        None,
        {},
        {**good, "vocab": 0},
        {**good, "vocab": "300"},
        {**good, "vocab": 10**9},
        {**good, "more": 1},
        {**good, "roles": {"head": "[CLS]"}},
        {**good, "roles": {"cls": ""}},
        {**good, "roles": {"cls": "[OTHER]"}},
        {**good, "roles": {"pad": "[PAD]"}},
    ):
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps({"greffe": bad, **tree}), "utf-8")
        with pytest.raises(CorruptError) as caught:
            Tokenizer.load(path)
        assert str(path) in caught.value.message and caught.value.found
    with pytest.raises(MismatchError, match="does not match the embedding"):
        ForeignTokenizer(json.dumps({"greffe": {**good, "vocab": 20}, **tree}))
