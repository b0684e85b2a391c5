"""Imported decoders generate what transformers generates, and can be trained on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import imported, randomized
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from greffe.config.sections import TrainSpec
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.inference.generate import generate
from greffe.model.attention import Cache
from greffe.model.model import Model
from greffe.objectives.objective import LanguageSpec, RowBatch
from greffe.seeding import rng
from greffe.training.distributed import World
from greffe.training.loop import train
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget, Clock

PROMPT, NEW = "Ce livre est", 24


def decoder(family: str, vocab: int) -> PreTrainedModel:
    if family == "gpt2":
        config = GPT2Config(
            vocab_size=vocab, n_embd=32, n_layer=2, n_head=4, n_positions=48, eos_token_id=None
        )
        return randomized(GPT2LMHeadModel(config))
    shape = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2}
    sizes = {"num_hidden_layers": 2, "intermediate_size": 48, "max_position_embeddings": 48}
    config = LlamaConfig(vocab_size=vocab, eos_token_id=None, **shape, **sizes)
    return randomized(LlamaForCausalLM(config))


def greedy(model: Model, ids: list[int], *, cached: bool) -> list[int]:
    """Return the ids with the best new ones, with a cache or by reading all of them each time."""
    ids = list(ids)
    cache = Cache(model.spec.layers) if cached else None
    unread = ids
    with torch.inference_mode():
        for _ in range(NEW):
            row = torch.tensor([unread])
            hidden = model.base(row, causal=True, cache=cache)
            best = int(model.scores(hidden[:, -1], "next_token").argmax())
            ids.append(best)
            unread = [best] if cached else ids
    return ids


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_greedy_tokens_are_the_same(family: str) -> None:
    theirs = decoder(family, 300)
    own = imported(theirs, family)
    for length in (1, 5, 20):
        start = torch.randint(300, (1, length), generator=torch.Generator().manual_seed(length))
        found = theirs.generate(
            start,
            attention_mask=torch.ones_like(start),
            max_new_tokens=NEW,
            do_sample=False,
            pad_token_id=0,
        )
        expected = found[0].tolist()
        assert len(expected) == length + NEW
        assert len(set(expected[length:])) > 3  # not one token again and again
        assert greedy(own, start[0].tolist(), cached=True) == expected
        assert greedy(own, start[0].tolist(), cached=False) == expected


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_texts_are_generated_beyond_the_context(family: str, tiny_tokenizer: Tokenizer) -> None:
    own = imported(decoder(family, tiny_tokenizer.size), family)
    new = list(generate(own, tiny_tokenizer, PROMPT, tokens=60, temperature=2.0, top_p=1.0))
    assert 0 < len(new) <= 60
    assert all(0 <= number < tiny_tokenizer.size for number in new)


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_pretraining_goes_on(
    family: str, precision: torch.dtype | None, tiny_tokenizer: Tokenizer
) -> None:
    own = imported(decoder(family, tiny_tokenizer.size), family).train()
    own.base.dtype = precision
    objective = LanguageSpec.of_kind("causal").build(tiny_tokenizer, tied=own.spec.tied)
    assert objective.heads() == own.head_specs
    random = rng(0, "rows")
    ids = random.integers(10, tiny_tokenizer.size, (4, 32)).astype(np.int64)
    rows = PackedRows(
        ids=ids,
        lengths=np.full(4, 32, np.int64),
        documents=np.zeros((4, 32), np.int64),
        positions=np.arange(32)[None].repeat(4, 0),
        first_document=np.arange(4, dtype=np.int64),
    )
    batch = objective.prepare(RowBatch(rows, np.arange(4), [rng(0, "row", n) for n in range(4)]))
    spec = TrainSpec(batch=4, lr=1e-2, schedule="constant", warmup=0.0)
    steps = train(
        own,
        objective,
        build_optimizer(own, spec, own.spec.layers),
        lambda step: [batch],
        spec=spec,
        budget=Budget.parse("8steps", steps_per_epoch=1),
        seed=0,
        start=Clock(),
        world=World(),
    )
    losses = [step.loss for step in steps]
    assert len(losses) == 8
    assert losses[-1] < 0.8 * losses[0]
