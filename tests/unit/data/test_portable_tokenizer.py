"""A tokenizer as a file of the tokenizers library: the same ids without greffe."""

from __future__ import annotations

from pathlib import Path

import pytest
import sentencepiece
from tests.unit.data.foreign import KINDS, TEXTS, read
from tokenizers import Tokenizer as Backend

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import import_sentencepiece, train_tokenizer
from greffe.data.portable_tokenizer import portable_tokenizer
from greffe.data.tokenizer import Tokenizer

SPELLED = "Un <mask> <sos> <0x41> [MASK] </s> livre"
ODD = [
    *TEXTS[:5],
    "",
    "a",
    "  deux   espaces  ",
    "a\n\n\tb\r\nc\u00a0d\u3000e",
    "e\u0301té ½ ﬁn ▁a▁▁ b",
    "👩‍👩‍👧‍👦 ❤️ 1️⃣ \0\x7f",
    "x" * 200 + "=" * 100,
]


def same_ids(tokenizer: Tokenizer, backend: Backend, text: str) -> bool:
    return bool(backend.encode(text).ids == tokenizer.wrap(tokenizer.encode(text)).tolist())


@pytest.fixture(scope="module", params=["bpe", "unigram", "sentencepiece", "lowercase"])
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    if request.param == "sentencepiece":
        folder = tmp_path_factory.mktemp("sentencepiece")
        (folder / "text.txt").write_text("\n".join(TEXTS * 20), "utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "text.txt"),
            model_prefix=str(folder / "spm"),
            vocab_size=200,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        return import_sentencepiece(folder / "spm.model")
    kind = "bpe" if request.param == "lowercase" else request.param
    trained = train_tokenizer(TEXTS, TokenizerSpec(kind=kind, vocab=400))
    return trained.lowercased() if request.param == "lowercase" else trained


def test_ids_of_native_tokenizers_are_the_same(native: Tokenizer) -> None:
    backend = Backend.from_str(portable_tokenizer(native))
    assert all(same_ids(native, backend, text) for text in [*ODD, SPELLED])
    assert backend.token_to_id("<pad>") == native.pad
    assert backend.truncation is None and backend.padding is None


def test_special_tokens_in_a_text_are_read_if_asked_for(native: Tokenizer) -> None:
    backend = Backend.from_str(portable_tokenizer(native, reads_specials=True))
    assert all(same_ids(native, backend, text) for text in ODD)
    assert native.mask in backend.encode(SPELLED).ids
    text = "Ce livre est beau"
    assert backend.decode(backend.encode(text).ids) == native.decode(native.encode(text))


@pytest.mark.parametrize("kind", list(KINDS))
def test_ids_of_foreign_tokenizers_are_the_same(kind: str, tmp_path: Path) -> None:
    tokenizer = read(tmp_path, KINDS[kind]())
    backend = Backend.from_str(portable_tokenizer(tokenizer))
    texts = [text for text in [*ODD, SPELLED] if text or tokenizer.prefix]
    assert all(same_ids(tokenizer, backend, text) for text in texts)
    assert backend.token_to_id(tokenizer.piece(tokenizer.pad)) == tokenizer.pad
    again = tokenizer.with_character_steps([{"type": "Lowercase"}])
    backend = Backend.from_str(portable_tokenizer(again))
    assert all(same_ids(again, backend, text) for text in texts)
