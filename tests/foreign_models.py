"""Small models in Hugging Face format, with random weights, as transformers saves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}
FILES = (
    *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
    "special_tokens_map.json",
)


def word_pieces(texts: Sequence[str], vocab: int = 120) -> Backend:
    """Train a tokenizer like BERT's."""
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab, special_tokens=SPECIALS, show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    ids = [(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    return backend


def save_bert(
    folder: Path, texts: Sequence[str], kind: str = "BertForPreTraining", **config: Any
) -> Path:
    """Save a BERT of this class of transformers, and its tokenizer."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    backend = word_pieces(texts)
    fast = transformers.BertTokenizerFast(tokenizer_object=backend)
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    size = backend.get_vocab_size()
    shape = transformers.BertConfig(**{"vocab_size": size, **BERT, **config})
    getattr(transformers, kind)(shape).save_pretrained(folder)
    return folder
