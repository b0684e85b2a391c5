"""Small tokenizers of every kind, made with the tokenizers library as model makers do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers import Tokenizer as Backend

from greffe.data.foreign_tokenizer_folder import read_foreign_tokenizer
from greffe.data.tokenizer import Tokenizer

TEXTS = [
    "Ce livre est beau, l'auteur écrit bien.",
    "Un roman magnifique ! Le lire, le relire : un livre à lire.",
    "The book is good, and the reader likes the books of 1984.",
    "Читать книгу, читать роман. 中文的书 日本語の本 한국어 책",
    "ספר טוב कितاب अच्छी है كتاب جيد βιβλίο ❤️ 👩‍👩‍👧‍👦",
] * 2
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]
LLAMA = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def around(first: tuple[str, int], last: tuple[str, int] | None) -> processors.TemplateProcessing:
    single = f"{first[0]} $A" + (f" {last[0]}" if last else "")
    return processors.TemplateProcessing(
        single=single,
        pair=f"{single} $B:1",
        special_tokens=[first, *([last] if last else [])],
    )


def wordpiece(*, lowercase: bool = True) -> Backend:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=260, special_tokens=BERT, show_progress=False)
    backend.train_from_iterator(TEXTS, trainer)
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return backend


def byte_level(specials: list[str], *, adds_space: bool) -> Backend:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=adds_space)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS, trainer)
    return backend


def roberta(*, adds_space: bool = False) -> Backend:
    backend = byte_level(ROBERTA, adds_space=adds_space)
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=adds_space
    )
    return backend


def gpt2() -> Backend:
    backend = byte_level(["<|endoftext|>"], adds_space=False)
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    return backend


def modern() -> Backend:
    """ModernBERT, Llama 3: an expression splits, bytes follow; spaces are added tokens."""
    backend = byte_level(BERT, adds_space=False)
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}{1,3}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.add_tokens([AddedToken("    ", normalized=False)])
    backend.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    backend.post_processor = around(("[CLS]", 2), ("[SEP]", 3))
    return backend


def llama(*, legacy: bool = False) -> Backend:
    backend = Backend(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[*LLAMA, *BYTES], show_progress=False
    )
    backend.train_from_iterator(TEXTS, trainer)
    tree = json.loads(backend.to_str())
    # The bytes are ordinary pieces, and a text is one word.
    tree["added_tokens"] = tree["added_tokens"][:3]
    backend = Backend.from_str(json.dumps(tree))
    if legacy:
        backend.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        backend.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
    else:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    backend.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    backend.post_processor = around(("<s>", 1), None)
    return backend


def unigram() -> Backend:
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, unk_token="<unk>", special_tokens=ROBERTA, show_progress=False
    )
    backend.train_from_iterator(TEXTS, trainer)
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    backend.post_processor = around(("<s>", 0), ("</s>", 2))
    return backend


def word_level() -> Backend:
    backend = Backend(models.WordLevel(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=100, special_tokens=BERT, show_progress=False)
    backend.train_from_iterator(TEXTS, trainer)
    backend.post_processor = around(("[CLS]", 2), ("[SEP]", 3))
    return backend


def suffixed() -> Backend:
    """GPT: a suffix ends a word."""
    backend = Backend(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.BPEDecoder(suffix="</w>")
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<unk>", "</s>"],
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS, trainer)
    return backend


KINDS: dict[str, Callable[[], Backend]] = {
    "wordpiece": wordpiece,
    "wordpiece cased": lambda: wordpiece(lowercase=False),
    "roberta": roberta,
    "roberta with space": lambda: roberta(adds_space=True),
    "gpt2": gpt2,
    "modern": modern,
    "llama": llama,
    "llama legacy": lambda: llama(legacy=True),
    "unigram": unigram,
    "word level": word_level,
    "suffixed": suffixed,
}


def write_folder(folder: Path, backend: Backend | dict[str, Any], **files: object) -> Path:
    """Write tokenizer.json and other JSON files, named without their ending."""
    folder.mkdir(parents=True, exist_ok=True)
    content = backend.to_str() if isinstance(backend, Backend) else json.dumps(backend)
    (folder / "tokenizer.json").write_text(content, "utf-8")
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), "utf-8")
    return folder


def read(folder: Path, backend: Backend, *, rows: int | None = None, **files: object) -> Tokenizer:
    """Return the tokenizer that greffe reads from a folder with these files."""
    size = backend.get_vocab_size() if rows is None else rows
    return read_foreign_tokenizer(write_folder(folder, backend, **files), size)
