"""Compare a model of transformers with the same weights in greffe."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface import families
from greffe.interop.huggingface.assemble import Plan, plan_tensors
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family
from greffe.model.model import Model, blank_model
from greffe.model.weights import load_exact

assert families
TOLERANCE = 1e-4


def randomized(model: PreTrainedModel, seed: int = 1) -> PreTrainedModel:
    """Return the model with every weight drawn anew, norms and biases too, ready to compare."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = 0.2 * torch.randn(parameter.shape, generator=generator)
            is_scale = parameter.ndim == 1 and name.endswith("weight")
            parameter.copy_(1 + drawn if is_scale else drawn)
    model.tie_weights()
    return model.eval()


def spec_of(config: PreTrainedConfig, family: str) -> ModelSpec:
    """Return the shape of a model with this configuration."""
    fields = Family.registry[family].model(Config(config.to_dict(), "config.json"))
    return ModelSpec.model_validate({**fields, "family": family})


def plan_of(config: PreTrainedConfig, family: str, tensors: Mapping[str, Tensor]) -> Plan:
    """Return which of a file's tensors make which of greffe's."""
    chosen = Family.registry[family]
    values, spec = Config(config.to_dict(), "config.json"), spec_of(config, family)
    shapes = {name: tuple(value.shape) for name, value in tensors.items()}
    layout, vocab = chosen.layout(spec, values), chosen.vocab(values)
    return plan_tensors(layout, chosen.prefix, spec, vocab, shapes, "test")


def imported(model: PreTrainedModel, family: str) -> Model:
    """Return the same model in greffe."""
    tensors = {name: value.clone() for name, value in model.state_dict().items()}
    plan = plan_of(model.config, family, tensors)
    own = blank_model(spec_of(model.config, family), model.config.vocab_size, plan.heads)
    load_exact(own, dict(plan.read(tensors.__getitem__)), "test")
    return own.eval()


@torch.inference_mode()
def check_same(
    theirs: PreTrainedModel, family: str, *, causal: bool, head: str | None, longest: int = 24
) -> Model:
    """Compare hidden states, and logits of a head, of rows of many lengths, padded in batches.

    `theirs` has a head if one is given, and is the bare base otherwise. Returns greffe's model.
    """
    own = imported(theirs, family)
    generator = torch.Generator().manual_seed(2)
    vocab = theirs.config.vocab_size
    for lengths in ([1], [longest], [3, longest, 1, longest // 2], [2, 2]):
        ids = torch.randint(5, vocab, (len(lengths), max(lengths)), generator=generator)
        real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        ids[~real] = theirs.config.pad_token_id or 0
        found = theirs(input_ids=ids, attention_mask=real.long(), output_hidden_states=True)
        hidden = own.base(ids, causal=causal, lengths=torch.tensor(lengths))
        last = found.hidden_states[-1] if head else found.last_hidden_state
        difference = (hidden - last)[real].abs().max()
        assert difference < TOLERANCE, f"hidden states differ by {difference} at {lengths}"
        if head:
            difference = (own.scores(hidden, head) - found.logits)[real].abs().max()
            assert difference < TOLERANCE, f"logits differ by {difference} at {lengths}"
    return own
