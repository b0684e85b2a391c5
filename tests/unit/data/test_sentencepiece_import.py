"""SentencePiece models, with the library itself as the reference."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from greffe.data.native_tokenizer import SPECIALS, import_sentencepiece
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, DataError, MismatchError, MissingExtraError

STEMS = ["livre", "lecture", "roman", "auteur", "histoire", "personnage", "émotion", "aventure"]
TEXTS = [
    f"{opening} {stem}{ending} est, page {number * 37}, très beau ! l'été aujourd'hui"
    for number, opening in enumerate(["Ce", "J'adore l'", "Quel ennui, un", "Où est le"])
    for stem in STEMS
    for ending in ["", "s", "esse", "ment", "tions"]
]
CASES = [
    *TEXTS[:40],
    "",
    "   ",
    "  deux   espaces  ",
    "\u3000plein\u00a0\u2003espace \t fin\n",
    "½ ﬁn e\u0301té \uff21\uff22",
    "中文 inconnu 😀😀 fin",
    "<oov> <mask> <sos>",
    "<unk> <s> </s>",
    "aaaaaaaaaaaaaaaaaa livreslivres",
]


def trained(folder: Path, **options: object) -> Path:
    (folder / "text.txt").write_text("\n".join(TEXTS * 5), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        **{
            "input": str(folder / "text.txt"),
            "model_prefix": str(folder / "spm"),
            "vocab_size": 150,
            "hard_vocab_limit": False,
            "minloglevel": 2,
            "num_threads": 1,
            **options,
        }
    )
    return folder / "spm.model"


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp(request.param), model_type=request.param)


def reference(model: Path) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(model))


def check_same_pieces(tokenizer: Tokenizer, model: Path, texts: list[str]) -> None:
    library = reference(model)
    for text in texts:
        expected = [
            "<oov>" if id == library.unk_id() else library.id_to_piece(id)
            for id in library.encode(text)
        ]
        assert [tokenizer.piece(id) for id in tokenizer.encode(text)] == expected, text


def write_dictionary(model: Path, path: Path) -> list[str]:
    library = reference(model)
    pieces = [library.id_to_piece(id) for id in range(3, library.get_piece_size())][::-1]
    path.write_text("".join(f"{piece} 1\n" for piece in pieces), "utf-8")
    return pieces


def test_cuts_text_as_the_library_does(model: Path) -> None:
    tokenizer = import_sentencepiece(model)
    check_same_pieces(tokenizer, model, CASES)
    batch = tokenizer.encode_batch(CASES)
    assert [ids.tolist() for ids in batch] == [tokenizer.encode(text) for text in CASES]


def test_alone_specials_come_first_then_the_models_order(model: Path) -> None:
    tokenizer = import_sentencepiece(model)
    library = reference(model)
    assert tokenizer.size == 5 + library.get_piece_size() - 3
    assert [tokenizer.piece(id) for id in range(5)] == list(SPECIALS)
    assert [tokenizer.piece(id) for id in range(5, tokenizer.size)] == [
        library.id_to_piece(id) for id in range(3, library.get_piece_size())
    ]
    assert tokenizer.mask == 4


def test_dictionary_gives_the_order_of_ids(model: Path, tmp_path: Path) -> None:
    pieces = write_dictionary(model, tmp_path / "dict.txt")
    tokenizer = import_sentencepiece(model, tmp_path / "dict.txt")
    assert tokenizer.size == 4 + len(pieces)
    assert [tokenizer.piece(id) for id in range(4)] == ["<sos>", "<pad>", "<eos>", "<oov>"]
    assert [tokenizer.piece(id) for id in range(4, tokenizer.size)] == pieces
    assert tokenizer.mask == tokenizer.oov == 3
    check_same_pieces(tokenizer, model, CASES)


def test_decoding_and_normalising(model: Path) -> None:
    tokenizer = import_sentencepiece(model)
    assert tokenizer.normalize("  un   roman ") == "un roman"
    for text in CASES:
        assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalize(text)
    for text in TEXTS:
        assert tokenizer.normalize(text) == " ".join(text.split())


def test_continuing_text_keeps_its_own_space(model: Path) -> None:
    tokenizer = import_sentencepiece(model)
    first = tokenizer.encode("un li")
    assert tokenizer.decode(first + tokenizer.encode("vre", continues=True)) == "un livre"
    assert tokenizer.decode(first + tokenizer.encode("  vre", continues=True)) == "un li vre"


def test_text_that_spells_a_special_is_text(model: Path) -> None:
    tokenizer = import_sentencepiece(model)
    for name in ("sos", "pad", "eos", "mask"):
        assert tokenizer.id_of(f"<{name}>") not in tokenizer.encode(f"un <{name}> ici")
    assert len(tokenizer.encode("<oov>")) > 1


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize(
    "options",
    [
        {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
        {"normalization_rule_name": "nfkc_cf", "add_dummy_prefix": False},
        {"user_defined_symbols": ["<sep>", "livre"]},
        {"split_by_whitespace": False},
    ],
    ids=["identity", "no prefix", "symbols", "pieces over spaces"],
)
def test_other_options_of_the_trainer(
    model_type: str, options: dict[str, object], tmp_path: Path
) -> None:
    model = trained(tmp_path, model_type=model_type, **options)
    tokenizer = import_sentencepiece(model)
    check_same_pieces(tokenizer, model, [*TEXTS, "  un  livre <sep> ", "livres"])
    if "user_defined_symbols" in options:
        assert tokenizer.id_of("<sep>") in tokenizer.encode("a<sep>", continues=True)


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_byte_pieces_spell_unknown_characters(model_type: str, tmp_path: Path) -> None:
    model = trained(tmp_path, model_type=model_type, byte_fallback=True, vocab_size=400)
    tokenizer = import_sentencepiece(model)
    texts = ["中文 😀 livre", "un 本", "<0x41> fin"]
    check_same_pieces(tokenizer, model, texts[:2])
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.token_bytes[tokenizer.id_of("<0xE4>")] == 1


def test_import_survives_saving(model: Path, tmp_path: Path) -> None:
    tokenizer = import_sentencepiece(model)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.fingerprint == tokenizer.fingerprint
    assert all(loaded.encode(text) == tokenizer.encode(text) for text in CASES)


def test_damaged_models_are_refused(model: Path, tmp_path: Path) -> None:
    content = model.read_bytes()
    damaged = tmp_path / "damaged.model"
    for broken in (b"", b"not a model at all", content[: len(content) // 2], content[:40]):
        damaged.write_bytes(broken)
        with pytest.raises(CorruptError) as error:
            import_sentencepiece(damaged)
        assert "damaged.model" in str(error.value)
    with pytest.raises(DataError, match="cannot be read"):
        import_sentencepiece(tmp_path / "missing.model")


def no_usable_piece(proto: Any) -> None:
    for item in proto.pieces:
        item.type = 3


def broken_table(proto: Any) -> None:
    proto.normalizer_spec.precompiled_charsmap = b"\xff\xff\xff\x7fabc"


def piece(**fields: object) -> Callable[[Any], None]:
    def change(proto: Any) -> None:
        for name, value in fields.items():
            setattr(proto.pieces[20], name, value)

    return change


@pytest.mark.parametrize(
    "damage",
    [
        no_usable_piece,
        broken_table,
        piece(score=math.nan),
        piece(score=-math.inf),
        piece(piece=""),
        piece(piece="a" * 100_000),
    ],
)
def test_models_whose_parts_are_damaged(
    model: Path, tmp_path: Path, damage: Callable[[Any], None]
) -> None:
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.read_bytes())
    damage(proto)
    (tmp_path / "damaged.model").write_bytes(proto.SerializeToString())
    with pytest.raises(CorruptError, match="damaged"):
        import_sentencepiece(tmp_path / "damaged.model")


def test_a_piece_that_is_not_utf8(model: Path, tmp_path: Path) -> None:
    content = model.read_bytes().replace("émotion".encode()[:3], b"\xff\xffm")
    (tmp_path / "damaged.model").write_bytes(content)
    with pytest.raises(CorruptError, match="damaged"):
        import_sentencepiece(tmp_path / "damaged.model")


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_other_kinds_of_models_are_refused(model_type: str, tmp_path: Path) -> None:
    model = trained(tmp_path, model_type=model_type, vocab_size=40)
    with pytest.raises(DataError, match="cannot be imported"):
        import_sentencepiece(model)


def test_models_with_spaces_after_words_are_refused(tmp_path: Path) -> None:
    model = trained(tmp_path, treat_whitespace_as_suffix=True)
    with pytest.raises(DataError, match="treat_whitespace_as_suffix"):
        import_sentencepiece(model)


def test_dictionary_of_another_model_is_a_mismatch(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    pieces = write_dictionary(model, path)
    path.write_text("".join(f"{piece} 1\n" for piece in [*pieces[:-1], "autre"]), "utf-8")
    with pytest.raises(MismatchError, match="'autre'") as error:
        import_sentencepiece(model, path)
    assert repr(pieces[-1]) in str(error.value)


def test_fillers_of_a_dictionary_are_kept(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    pieces = write_dictionary(model, path)
    with path.open("a", encoding="utf-8") as file:
        file.write("madeupword0000 0\n")
    tokenizer = import_sentencepiece(model, path)
    assert tokenizer.id_of("madeupword0000") == 4 + len(pieces)
    check_same_pieces(tokenizer, model, CASES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"piece\n", "line 1"),
        (b"a 1\nb x\n", "line 2"),
        (b"a 1\na 1\n", "duplicate"),
        (b"<pad> 1\n", "duplicate"),
        (b"", "line 1"),
        (b"\xff\xfe 1\n", "not UTF-8"),
    ],
)
def test_unreadable_dictionaries(model: Path, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "dict.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        import_sentencepiece(model, path)
    with pytest.raises(DataError, match="cannot be read"):
        import_sentencepiece(model, tmp_path / "missing.txt")


def test_missing_library_names_the_extra(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece.sentencepiece_model_pb2", None)
    with pytest.raises(MissingExtraError, match=r"greffe\[sentencepiece\]"):
        import_sentencepiece(model)
