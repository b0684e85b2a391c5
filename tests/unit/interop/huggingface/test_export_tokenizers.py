"""The tokenizer of an exported folder gives transformers the ids that greffe has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import transformers
from tests.unit.data.foreign import KINDS, read
from tests.unit.data.test_portable_tokenizer import ODD, SPELLED
from tests.unit.interop.huggingface.exported import export, shape_of, write_run

from greffe.config.sections import TokenizerSpec
from greffe.data.foreign_tokenizer import ForeignTokenizer
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("unsynced")


def exported(tokenizer: Tokenizer, folder: Path) -> transformers.PreTrainedTokenizerBase:
    """Return what transformers reads from the folder of a BERT with this tokenizer."""
    run = write_run(folder / "run", tokenizer, shape_of("bert", layers=1), ["masked_token"])
    export(run, folder / "folder")
    return transformers.AutoTokenizer.from_pretrained(folder / "folder")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_native_tokenizers(kind: str, tmp_path: Path, tiny_texts: list[str]) -> None:
    own = train_tokenizer(tiny_texts, TokenizerSpec.model_validate({"kind": kind, "vocab": 500}))
    theirs = exported(own, tmp_path)
    for text in [*ODD, *tiny_texts[:5]]:
        assert theirs(text).input_ids == own.wrap(own.encode(text)).tolist(), text
    assert theirs.pad_token_id == own.pad and theirs.mask_token_id == own.mask
    assert (theirs.bos_token_id, theirs.eos_token_id) == (own.sos, own.eos)
    assert (theirs.cls_token_id, theirs.sep_token_id) == (own.sos, own.eos)
    assert theirs.unk_token_id == own.oov
    assert (theirs.model_max_length, theirs.padding_side) == (32, "right")
    text = tiny_texts[0]
    assert theirs.decode(theirs(text).input_ids, skip_special_tokens=True) == text
    long = theirs(" ".join(tiny_texts[:20]), truncation=True).input_ids
    assert len(long) == 32 and long[-1] == own.eos
    assert theirs(["a", text], padding=True).attention_mask[0][-1] == 0


def test_a_mask_in_a_text_is_one(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    theirs = exported(tiny_tokenizer, tmp_path)
    assert tiny_tokenizer.mask not in tiny_tokenizer.encode("Ce <mask> est beau")
    expected = tiny_tokenizer.encode_around_masks(["Ce ", " est beau"]).ids
    assert theirs("Ce <mask> est beau").input_ids == tiny_tokenizer.wrap(expected).tolist()


@pytest.mark.parametrize("kind", list(KINDS))
def test_foreign_tokenizers(kind: str, tmp_path: Path) -> None:
    own = read(tmp_path / "model", KINDS[kind]())
    assert isinstance(own, ForeignTokenizer)
    theirs = exported(own, tmp_path)
    for text in [*ODD, SPELLED]:
        expected = own.wrap(own.encode(text)).tolist() if text or own.prefix else []
        assert theirs(text).input_ids == expected, text
    assert theirs.pad_token_id == own.pad
    assert len(theirs(["a", "a b c"], padding=True).input_ids[0]) > 1
    # Only the key that greffe adds for itself is gone.
    file = json.loads((tmp_path / "folder" / "tokenizer.json").read_text("utf-8"))
    assert file.keys() == json.loads(own.content).keys() - {"greffe"}
