"""A tokenizer from a folder in Hugging Face format: roles, settings, and what can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.data.foreign import (
    TEXTS,
    around,
    gpt2,
    llama,
    modern,
    read,
    roberta,
    unigram,
    wordpiece,
    write_folder,
)
from tokenizers import Tokenizer as Backend
from tokenizers import processors
from transformers import (
    AutoTokenizer,
    BertTokenizer,
    CamembertTokenizer,
    GPT2Tokenizer,
    LlamaTokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    XLMRobertaTokenizer,
)

from greffe.data.foreign_tokenizer_folder import read_foreign_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, DataError, GreffeError, MismatchError

PROBES = [
    *TEXTS[:5],
    *("", " ", "  deux  espaces ", "ligne\n\nligne", "ÉTÉ", "été 😀"),
    *("Un [MASK] <mask> <|endoftext|> [SEP]</s> livre", "[PAD]a<pad>"),
]


def same_ids(folder: Path, tokenizer: Tokenizer) -> bool:
    theirs = AutoTokenizer.from_pretrained(folder)
    return [theirs(text)["input_ids"] or [tokenizer.sos] for text in PROBES] == [
        tokenizer.wrap(tokenizer.encode(text)).tolist() for text in PROBES
    ]


def model(backend: Backend) -> dict[str, Any]:
    found = json.loads(backend.to_str())["model"]
    vocabulary = found["vocab"]
    if isinstance(vocabulary, list):
        return {"vocab": [tuple(item) for item in vocabulary]}
    merges = [tuple(merge) for merge in found.get("merges", [])]
    return {"vocab": vocabulary, **({"merges": merges} if merges else {})}


@pytest.mark.parametrize(
    ("family", "backend", "roles"),
    [
        (BertTokenizer, wordpiece, "[CLS] [PAD] [SEP] [UNK] [MASK]"),
        (RobertaTokenizer, roberta, "<s> <pad> </s> <unk> <mask>"),
        (XLMRobertaTokenizer, unigram, "<s> <pad> </s> <unk> <mask>"),
        (CamembertTokenizer, unigram, "<s> <pad> </s> <unk> <mask>"),
        (GPT2Tokenizer, gpt2, " ".join(["<|endoftext|>"] * 5)),
        (LlamaTokenizer, llama, "<s> </s> </s> <unk> <unk>"),
    ],
)
def test_what_a_family_saves_gives_its_ids(
    tmp_path: Path, family: Any, backend: Any, roles: str
) -> None:
    theirs = family(**model(backend()))
    theirs.save_pretrained(tmp_path)
    ours = read_foreign_tokenizer(tmp_path, len(theirs) + 5)
    assert same_ids(tmp_path, ours)
    ids = (ours.sos, ours.pad, ours.eos, ours.oov, ours.mask)
    assert " ".join(ours.piece(id) for id in ids) == roles


@pytest.mark.parametrize("backend", [wordpiece, roberta, modern, unigram, llama, gpt2])
def test_a_tokenizer_without_a_class_of_its_own(tmp_path: Path, backend: Any) -> None:
    made = backend()
    write_folder(tmp_path, made)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    theirs.save_pretrained(tmp_path)
    assert same_ids(tmp_path, read_foreign_tokenizer(tmp_path, made.get_vocab_size()))


def test_roles_come_from_either_file_as_text_or_object(tmp_path: Path) -> None:
    odd = {"content": "livre", "lstrip": True, "single_word": False, "normalized": False}
    config = {"cls_token": "un", "mask_token": "le", "pad_token": None}
    tokenizer = read(
        tmp_path,
        wordpiece(),
        tokenizer_config=config,
        special_tokens_map={"mask_token": odd, "additional_special_tokens": ["bien"]},
    )
    assert [tokenizer.piece(id) for id in (tokenizer.sos, tokenizer.mask)] == ["un", "livre"]
    assert tokenizer.piece(tokenizer.pad) == "[PAD]"
    assert {tokenizer.id_of("bien"), tokenizer.id_of("un")} <= set(tokenizer.specials)


def test_the_flags_of_the_configuration_win(tmp_path: Path) -> None:
    """A configuration that lists its added tokens is complete: the older file does not count."""
    mask = {"content": "[MASK]", "lstrip": True, "special": True, "normalized": False}
    tokenizer = read(
        tmp_path,
        wordpiece(),
        tokenizer_config={
            "tokenizer_class": "PreTrainedTokenizerFast",
            "mask_token": "[MASK]",
            "added_tokens_decoder": {"4": mask},
        },
        special_tokens_map={"mask_token": "[UNK]"},
    )
    assert tokenizer.mask_text == "[MASK]"
    [span] = tokenizer.spans("   [MASK]")
    assert span == (0, 9)
    assert same_ids(tmp_path, tokenizer)


def test_a_token_needs_a_row(tmp_path: Path) -> None:
    backend = gpt2()
    size = backend.get_vocab_size()
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
    without = read(tmp_path / "a", backend, rows=size, tokenizer_config=config)
    assert without.pad == without.eos and without.id_of("[PAD]") is None
    withrow = read(tmp_path / "b", backend, rows=size + 1, tokenizer_config=config)
    assert withrow.pad == withrow.id_of("[PAD]") == size
    assert same_ids(tmp_path / "b", withrow)


def test_the_template_of_the_file_wins_over_settings(tmp_path: Path) -> None:
    names = {"bos_token": "<s>", "eos_token": "</s>"}
    config = {**names, "add_bos_token": False, "add_eos_token": True}
    tokenizer = read(tmp_path, llama(), tokenizer_config=config)
    assert tokenizer.wrap([9]).tolist() == [tokenizer.sos, 9]
    assert same_ids(tmp_path, tokenizer)


@pytest.mark.parametrize("lowercase", [True, False])
def test_settings_of_berts_class_win_over_its_normalizer(tmp_path: Path, lowercase: bool) -> None:
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": lowercase,
        "strip_accents": False,
    }
    tokenizer = read(tmp_path, wordpiece(lowercase=not lowercase), tokenizer_config=config)
    assert tokenizer.lowercases == lowercase
    assert same_ids(tmp_path, tokenizer)


def test_a_general_class_has_no_such_settings(tmp_path: Path) -> None:
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False}
    tokenizer = read(tmp_path, wordpiece(), tokenizer_config=config)
    assert tokenizer.lowercases
    assert same_ids(tmp_path, tokenizer)


def test_a_space_before_the_text_is_a_setting_too(tmp_path: Path) -> None:
    config = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True}
    tokenizer = read(tmp_path, roberta(), tokenizer_config=config)
    assert tokenizer.encode("livre") == tokenizer.encode(" livre")
    assert same_ids(tmp_path, tokenizer)


def test_an_old_file_without_types_and_with_merges_as_text(tmp_path: Path) -> None:
    for name, backend in (("a", wordpiece()), ("b", gpt2()), ("c", unigram())):
        tree = json.loads(backend.to_str())
        if "merges" in tree["model"]:
            tree["model"]["merges"] = [" ".join(merge) for merge in tree["model"]["merges"]]
        del tree["model"]["type"]
        folder = write_folder(tmp_path / name, tree)
        tokenizer = read_foreign_tokenizer(folder, backend.get_vocab_size())
        for text in TEXTS:
            assert tokenizer.wrap(tokenizer.encode(text)).tolist() == backend.encode(text).ids


def test_truncation_and_padding_of_the_file_do_not_count(tmp_path: Path) -> None:
    backend = wordpiece()
    backend.enable_truncation(4)
    backend.enable_padding(length=8)
    tokenizer = read(tmp_path, backend)
    assert len(tokenizer.encode(TEXTS[0])) > 8
    assert len(tokenizer.encode("un")) < 4


# --- what can be wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vocab.txt", "sentencepiece.bpe.model", "vocab.json"])
def test_a_slow_tokenizer_only(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(DataError, match="slow tokenizer") as caught:
        read_foreign_tokenizer(tmp_path, 10)
    assert caught.value.found == name
    assert "save_pretrained" in str(caught.value.hint)


def test_no_tokenizer_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no tokenizer"):
        read_foreign_tokenizer(tmp_path, 10)


def test_more_pieces_than_rows(tmp_path: Path) -> None:
    backend = wordpiece()
    size = backend.get_vocab_size()
    with pytest.raises(MismatchError, match="vocabulary does not match the embedding") as caught:
        read(tmp_path, backend, rows=size - 1)
    assert f"{size - 1:,}" in str(caught.value.expected)
    assert f"{size:,}" in str(caught.value.found)
    with pytest.raises(MismatchError):
        read(tmp_path, backend, rows=1)


def test_more_than_two_specials_around_a_text(tmp_path: Path) -> None:
    backend = wordpiece()
    backend.post_processor = processors.Sequence(
        [around(("[CLS]", 2), ("[SEP]", 3)), around(("[MASK]", 4), None)]
    )
    with pytest.raises(CorruptError, match="template") as caught:
        read(tmp_path, backend)
    assert "2 ids before a text and 1 after it" in str(caught.value.found)


def test_no_special_token_at_all(tmp_path: Path) -> None:
    tree = json.loads(wordpiece().to_str())
    tree["added_tokens"], tree["post_processor"] = [], None
    tree["model"]["unk_token"] = "un"
    tree["model"]["vocab"] = {"un": 0, "livre": 1}
    write_folder(tmp_path, tree)
    with pytest.raises(CorruptError, match="no token for the end of a text") as caught:
        read_foreign_tokenizer(tmp_path, 10)
    assert "eos_token" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["tokenizer", "tokenizer_config", "special_tokens_map"])
@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"7", b"\xff\xfe", b'{"a":NaN}', b"{}"])
def test_damaged_files(tmp_path: Path, name: str, content: bytes) -> None:
    write_folder(tmp_path, wordpiece())
    (tmp_path / f"{name}.json").write_bytes(content)
    if content == b"{}" and name != "tokenizer":
        assert read_foreign_tokenizer(tmp_path, 300).size == 300
        return
    with pytest.raises(CorruptError) as caught:
        read_foreign_tokenizer(tmp_path, 300)
    assert f"{name}.json" in caught.value.message


@pytest.mark.parametrize(
    "config",
    [
        {"added_tokens_decoder": []},
        {"added_tokens_decoder": {"a": "[X]"}},
        {"added_tokens_decoder": {"9": 7, "8": {"content": 7}}},
        {"cls_token": 7, "mask_token": {"content": []}, "pad_token": ""},
        {"additional_special_tokens": {"a": 1}, "extra_special_tokens": 7},
        {"additional_special_tokens": [7, None, "", {"content": ""}]},
        {"cls_token": "x" * 10_000, "eos_token": "\ud800"},
        {"add_bos_token": "yes", "add_eos_token": []},
        {"do_lower_case": "no", "strip_accents": 7},
        {"tokenizer_class": [], "add_prefix_space": 3},
    ],
)
def test_odd_settings_are_ignored_or_an_error(tmp_path: Path, config: Any) -> None:
    """Never another exception; what can be used is used."""
    write_folder(tmp_path, wordpiece(), tokenizer_config=config)
    try:
        tokenizer = read_foreign_tokenizer(tmp_path, 300)
    except GreffeError as error:
        assert error.found
    else:
        assert tokenizer.decode(tokenizer.encode("un livre")) == "un livre"
