"""Small tokenizers of other models, one of each kind, as a run keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NAMES = ("wordpiece", "byte_level", "space_mark", "unigram")
_TEXT = {"Sequence": {"id": "A", "type_id": 0}}


def write_foreign_tokenizers(folder: Path) -> None:
    """Write one file for each name."""
    for name, make in zip(NAMES, (_wordpiece, _byte_level, _space_mark, _unigram), strict=True):
        (folder / f"{name}.json").write_text(json.dumps(make()), "utf-8")


def _tokenizer(specials: tuple[str, ...], roles: dict[str, str], **parts: Any) -> dict[str, Any]:
    """Return a whole file; the specials have the first ids."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokens = [
        {"id": id, "content": name, **flags, "special": True} for id, name in enumerate(specials)
    ]
    return {
        "greffe": {"roles": roles, "vocab": 400},
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        **parts,
    }


def _numbered(*pieces: str) -> dict[str, int]:
    return {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}


def _wordpiece() -> dict[str, Any]:
    return _tokenizer(
        BERT,
        {"cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]", "unk": "[UNK]"},
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": _numbered(*BERT, *LETTERS, *(f"##{letter}" for letter in LETTERS), ".", ","),
        },
    )


def _bpe(*pieces: str, merges: list[list[str]], **choices: Any) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": _numbered(*pieces, *("".join(merge) for merge in merges)),
        "merges": merges,
        **choices,
    }


def _byte_level() -> dict[str, Any]:
    end = "<|endoftext|>"
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    step = {**step, "use_regex": True}
    return _tokenizer(
        (end,),
        {"bos": end, "eos": end},
        pre_tokenizer=step,
        post_processor=step,
        decoder=step,
        model=_bpe(end, *LETTERS, "Ġ", "Ã", "©", merges=[["Ġ", "l"], ["Ã", "©"], ["r", "e"]]),
    )


def _space_mark() -> dict[str, Any]:
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    return _tokenizer(
        ("<unk>", "<s>", "</s>"),
        {"bos": "<s>", "eos": "</s>", "unk": "<unk>"},
        pre_tokenizer=mark,
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, _TEXT],
            "pair": [_TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        decoder=mark,
        model=_bpe(
            *("<unk>", "<s>", "</s>", "▁", *LETTERS),
            *(f"<0x{byte:02X}>" for byte in range(256)),
            merges=[["▁", "l"], ["▁l", "e"]],
            unk_token="<unk>",
            byte_fallback=True,
        ),
    )


def _unigram() -> dict[str, Any]:
    specials = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    space = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return _tokenizer(
        specials,
        {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>", "unk": "<unk>"},
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, space]},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, mark]},
        post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
        | {"trim_offsets": True, "add_prefix_space": True},
        decoder=mark,
        model={
            "type": "Unigram",
            "unk_id": 3,
            "byte_fallback": False,
            "vocab": [[piece, -0.5 * id] for id, piece in enumerate((*specials, "▁", *LETTERS))],
        },
    )
