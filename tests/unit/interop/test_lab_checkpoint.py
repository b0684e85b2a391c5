"""The lab's checkpoint, made by the lab's own architecture, computes the same in greffe."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError
from greffe.interop.foreign_base import ForeignBase
from greffe.interop.lab_checkpoint import read_lab_checkpoint
from greffe.model.model import Model, blank_model
from greffe.model.weights import load_exact

VOCAB, WIDTH, HEADS, LAYERS = 50_001, 200, 2, 4


class Positions(nn.Module):
    """The lab's table of sines and cosines, [longest, 1, width]."""

    def __init__(self, longest: int = 500) -> None:
        super().__init__()
        position = torch.arange(longest)[:, None].float()
        frequencies = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10_000.0) / WIDTH))
        table = torch.zeros(longest, 1, WIDTH)
        table[:, 0, 0::2] = torch.sin(position * frequencies)
        table[:, 0, 1::2] = torch.cos(position * frequencies)
        self.register_buffer("pe", table)

    def forward(self, x: Tensor) -> Tensor:
        return x + cast(Tensor, self.pe)[: len(x)]


class LabBase(nn.Module):
    """Ids [T, B] → hidden states [T, B, width]."""

    def __init__(self, vocab: int, layers: int) -> None:
        super().__init__()
        self.encoder = nn.Embedding(vocab, WIDTH)
        self.pos_encoder = Positions()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, WIDTH, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, ids: Tensor) -> Tensor:
        mask = torch.full((len(ids), len(ids)), float("-inf")).triu(1)
        x = self.pos_encoder(self.encoder(ids) * math.sqrt(WIDTH))
        return cast(Tensor, self.transformer_encoder(x, mask))


class LabHead(nn.Module):
    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.decoder = nn.Linear(WIDTH, vocab)


class LabModel(nn.Module):
    def __init__(self, vocab: int = VOCAB, layers: int = LAYERS) -> None:
        super().__init__()
        self.base = LabBase(vocab, layers)
        self.classifier = LabHead(vocab)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                scale = 1.0 if "norm" in name and name.endswith("weight") else 0.0
                parameter.normal_(scale, 0.1, generator=generator)


def no_tokenizer(vocab: int) -> Tokenizer:
    """What is read here are weights."""
    return cast(Tokenizer, vocab)


def read(path: Path) -> ForeignBase:
    return read_lab_checkpoint(path, no_tokenizer)


def loaded(base: ForeignBase) -> Model:
    model = blank_model(base.model, base.vocab, base.heads)
    load_exact(model, dict(base.tensors()), "test")
    return model.eval()


def counted(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_hidden_states_and_logits_are_those_of_the_lab(tmp_path: Path) -> None:
    theirs = LabModel().eval()
    assert counted(theirs.base) == 10_968_200
    assert counted(theirs) == 21_018_401
    torch.save(theirs.state_dict(), tmp_path / "pretrained_model_4layers.pt")
    base = read(tmp_path / "pretrained_model_4layers.pt")
    assert (base.vocab, base.model.layers, base.objective) == (VOCAB, LAYERS, "causal")
    assert base.tokenizer == VOCAB
    assert base.parameters == 10_968_200
    own = loaded(base)
    assert counted(own) == 21_018_401
    for rows, count in ((1, 1), (3, 40), (1, 200)):
        generator = torch.Generator().manual_seed(count)
        ids = torch.randint(VOCAB, (rows, count), generator=generator)
        with torch.no_grad():
            expected = theirs.base(ids.t())
            hidden = own.base(ids, causal=True)
            logits = own.scores(hidden[:, -1], "next_token")
            torch.testing.assert_close(hidden, expected.transpose(0, 1), atol=1e-4, rtol=0)
            expected = theirs.classifier.decoder(expected[-1])
            torch.testing.assert_close(logits, expected, atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def weights() -> dict[str, Tensor]:
    return dict(LabModel(vocab=60, layers=2).state_dict())


def without_head(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: weights[name] for name in weights if name.startswith("base.")}


def without_prefix(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("base."): tensor for name, tensor in without_head(weights).items()}


@pytest.mark.parametrize(
    ("variant", "has_head"),
    [
        (lambda weights: weights, True),
        (without_head, False),
        (without_prefix, False),
        (lambda weights: {"epoch": 3, "loss": 2.5, "model_state_dict": weights}, True),
        (lambda weights: {"model_state_dict": without_prefix(weights)}, False),
    ],
    ids=["whole", "without head", "without prefix", "training", "training, without prefix"],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_variants_of_the_file(
    weights: dict[str, Tensor],
    variant: Callable[[dict[str, Tensor]], dict[str, Any]],
    has_head: bool,
    zipped: bool,
    tmp_path: Path,
) -> None:
    path = tmp_path / "model.pt"
    torch.save(variant(weights), path, _use_new_zipfile_serialization=zipped)
    base = read(path)
    assert set(base.heads) == ({"next_token"} if has_head else set())
    assert (base.model.layers, base.vocab) == (2, 60)
    found = loaded(base).state_dict()
    name = "transformer_encoder.layers.1.self_attn.in_proj_weight"
    assert torch.equal(found["base.blocks.1.attention.qkv.weight"], weights[f"base.{name}"])


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"base.transformer_encoder.layers.1.norm2.bias": None}, "1.norm2.bias is missing"),
        ({"base.transformer_encoder.norm.weight": torch.ones(200)}, "not part of this"),
        ({"base.transformer_encoder.layers.0.linear1.bias": torch.ones(7)}, "(7,)"),
        ({"classifier.decoder.bias": None}, "classifier.decoder.weight is not part"),
        ({"classifier.decoder.weight": torch.ones(2, 200)}, "(2, 200)"),
    ],
)
def test_tensors_that_do_not_fit_are_named(
    weights: dict[str, Tensor], changes: dict[str, Tensor | None], found: str, tmp_path: Path
) -> None:
    changed = {
        name: tensor for name, tensor in {**weights, **changes}.items() if tensor is not None
    }
    torch.save(changed, tmp_path / "model.pt")
    with pytest.raises(MismatchError, match=r"model\.pt do not fit") as caught:
        read(tmp_path / "model.pt")
    assert found in str(caught.value.found)
    assert "greffe show lab" in str(caught.value.hint)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"encoder.weight": torch.ones(3)},
        {"base.encoder.weight": torch.ones(60, 200)},
        {"bert.embeddings.word_embeddings.weight": torch.ones(9, 4)},
    ],
)
def test_other_state_dicts_are_not_the_labs(content: dict[str, Tensor], tmp_path: Path) -> None:
    torch.save(content, tmp_path / "model.pt")
    with pytest.raises(MismatchError, match="not a checkpoint of the lab"):
        read(tmp_path / "model.pt")


class Executed:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_with_code_is_refused_and_not_run(
    weights: dict[str, Tensor], tmp_path: Path
) -> None:
    bad = {"model_state_dict": weights, "args": Executed(tmp_path / "made")}
    torch.save(bad, tmp_path / "model.pt")
    with pytest.raises(CorruptError, match="not a file of plain tensors") as caught:
        read(tmp_path / "model.pt")
    assert "mkdir" in str(caught.value.found)
    assert not (tmp_path / "made").exists()


def test_a_pickled_model_a_pipe_and_noise_are_refused(tmp_path: Path) -> None:
    torch.save(nn.Linear(2, 2), tmp_path / "module.pt")
    os.mkfifo(tmp_path / "pipe.pt")
    (tmp_path / "noise.pt").write_bytes(b"\x80\x02}q\x00." + bytes(range(256)))
    for name in ("module.pt", "pipe.pt"):
        with pytest.raises(CorruptError, match="not a file of plain tensors"):
            read(tmp_path / name)
    with pytest.raises((CorruptError, MismatchError), match=r"noise\.pt"):
        read(tmp_path / "noise.pt")
