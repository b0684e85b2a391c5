"""A small BERT in Hugging Face format, three times: safetensors, a torch file, shards."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor

from greffe.samples.toy import toy_documents

WIDTH, INNER, CONTEXT = 8, 16, 16
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FOREIGN, TORCH, SHARDS = "foreign", "foreign_torch", "foreign_shards"


def make_foreign(folder: Path) -> None:
    """Write the three folders."""
    backend = _word_pieces()
    tensors = _tensors(backend.get_vocab_size())
    config = {
        "model_type": "bert",
        "vocab_size": backend.get_vocab_size(),
        "hidden_size": WIDTH,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": INNER,
        "max_position_embeddings": CONTEXT,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    for name in (FOREIGN, TORCH, SHARDS):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config), "utf-8")
        backend.save(str(folder / name / "tokenizer.json"))
    save_file(tensors, folder / FOREIGN / "model.safetensors")
    torch.save(tensors, folder / TORCH / "pytorch_model.bin")
    _write_shards(folder / SHARDS, tensors)


def _write_shards(folder: Path, tensors: dict[str, Tensor]) -> None:
    names = sorted(tensors)
    places: dict[str, str] = {}
    for number, part in enumerate((names[:9], names[9:]), start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: tensors[name] for name in part}, folder / file)
        places |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")


def _word_pieces() -> Backend:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=SPECIALS, show_progress=False)
    backend.train_from_iterator(toy_documents(30, seed=0), trainer)
    ids = [(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ids
    )
    return backend


def _tensors(vocab: int) -> dict[str, Tensor]:
    """Return the tensors of a base with its pooler and its masked-token head."""
    embeddings, layer = "bert.embeddings", "bert.encoder.layer.0"
    prediction = "cls.predictions.transform"
    shapes: dict[str, tuple[int, ...]] = {
        f"{embeddings}.word_embeddings.weight": (vocab, WIDTH),
        f"{embeddings}.position_embeddings.weight": (CONTEXT, WIDTH),
        f"{embeddings}.token_type_embeddings.weight": (2, WIDTH),
        "cls.predictions.bias": (vocab,),
    }
    linear = {
        **{f"{layer}.attention.self.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")},
        f"{layer}.attention.output.dense": (WIDTH, WIDTH),
        f"{layer}.intermediate.dense": (INNER, WIDTH),
        f"{layer}.output.dense": (WIDTH, INNER),
        "bert.pooler.dense": (WIDTH, WIDTH),
        f"{prediction}.dense": (WIDTH, WIDTH),
    }
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in (embeddings, f"{layer}.attention.output", f"{layer}.output", prediction):
        shapes |= dict.fromkeys((f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias"), (WIDTH,))
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
