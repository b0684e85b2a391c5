"""Weights as named tensors: safetensors files, hashes, and the transfer from run to run.

Loading is strict: a base that does not fit exactly is an error that names the tensors. No pickle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor, nn

from greffe.config.sections import ModelSpec
from greffe.errors import CorruptError, MismatchError
from greffe.model.model import Model
from greffe.model.tensor_header import Shape, read_header
from greffe.storage import read_file, write_atomic

BASE = "base."
POSITIONS = "base.position.weight"
FREE_CHOICES = frozenset(("family", "context", "dropout", "tied", "head_bias", "head_activation"))
"""Choices of a model that leave the meaning of its base's tensors as it is."""


# --- tensors ------------------------------------------------------------------------------------


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors atomically and return the file's SHA-256."""
    held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    data = dump_tensors(held)
    write_atomic(path, data)
    return hashlib.sha256(data).hexdigest()


def load_tensors(path: Path, expected_hash: str | None = None) -> dict[str, Tensor]:
    """Return the tensors of a file; a missing or damaged one is a CorruptError."""
    data = read_file(path, "a safetensors file", largest=read_header(path).file_bytes)
    if expected_hash is not None and (found := hashlib.sha256(data).hexdigest()) != expected_hash:
        raise CorruptError(
            f"{path} is damaged or was replaced.",
            expected=f"content with SHA-256 {expected_hash[:12]}…",
            found=f"{found[:12]}…, {len(data):,} bytes",
            hint="copy the run again, or train it again",
        )
    try:
        return parse_tensors(data)
    except SafetensorError as error:
        raise CorruptError(
            f"{path} is damaged or truncated.", expected="a safetensors file", found=str(error)
        ) from None


def load_weights(path: Path, expected_hash: str | None, model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a file that has exactly those of `model`; its size is checked first.

    The model may be empty, so that nothing is allocated for a file that does not fit it.
    """
    check_shapes(path, model)
    weights = load_tensors(path, expected_hash)
    whole = [name for name, tensor in weights.items() if not tensor.is_floating_point()]
    if whole:
        raise CorruptError(
            f"{path} does not hold weights.",
            expected="floating-point tensors",
            found=f"{whole[0]} of type {weights[whole[0]].dtype}",
        )
    check_finite(weights, path)
    return weights


def check_shapes(path: Path, model: nn.Module) -> None:
    """Raise an error unless a file has exactly the tensors of `model`; no tensor is read."""
    _check_exact(_shapes(model.state_dict()), read_header(path).shapes, str(path))


def check_finite(
    weights: Mapping[str, Tensor],
    path: Path,
    hint: str = "the training diverged: train again with a lower learning rate",
) -> None:
    """Raise a CorruptError that names the first tensor of a file that is not finite."""
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise CorruptError(
                f"{path} holds weights that are not finite.",
                expected="finite numbers",
                found=f"{int((~tensor.isfinite()).sum()):,} of {tensor.numel():,} values of "
                f"{name} are NaN or infinite",
                hint=hint,
            )


def tensors_hash(tensors: Mapping[str, Tensor]) -> str:
    """Return a SHA-256 over names, shapes and values; equal weights have equal hashes."""
    return stream_hash((name, tensors[name]) for name in sorted(tensors))


def stream_hash(tensors: Iterable[tuple[str, Tensor]]) -> str:
    """Return the same for tensors that come one by one, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in tensors:
        tensor = tensor.detach().cpu().contiguous()
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def is_finite(model: Model) -> bool:
    """Return whether every weight is a finite number."""
    # Read once: a GPU is waited for at every read.
    return bool(torch.stack([weight.isfinite().all() for weight in model.parameters()]).all())


def base_hash(model: Model) -> str:
    """Return the hash of the base: each arm of a comparison records it before its first step."""
    state = model.state_dict()
    return tensors_hash({name: state[name] for name in state if name.startswith(BASE)})


def head_hash(model: Model) -> str:
    """Return the hash of the heads: arms with the same seed start from the same head."""
    state = model.state_dict()
    return tensors_hash({name: state[name] for name in state if not name.startswith(BASE)})


# --- transfer -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transfer:
    """What happened to each tensor when a model was given the weights of another run."""

    taken: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def describe(self, source: str, show_tensors: bool = False) -> str:
        """Return a one-line summary, optionally with one more line per tensor."""
        parts = [f"loaded from {source}: {_group(self.taken)}"]
        parts += [f"new: {_group(self.new)}"] if self.new else []
        parts += [f"not loaded: {_group(self.left)}"] if self.left else []
        lines = ["; ".join(parts)]
        if show_tensors:
            groups = (("loaded", self.taken), ("new", self.new), ("not loaded", self.left))
            lines += [f"  {word:<10} {name}" for word, names in groups for name in names]
        return "\n".join(lines)


def _group(names: list[str]) -> str:
    """`base (38 tensors), head masked_token (5)`."""
    counts: dict[str, int] = {}
    for name in names:
        part = "base" if name.startswith(BASE) else f"head {name.split('.')[1]}"
        counts[part] = counts.get(part, 0) + 1
    return ", ".join(f"{part} ({count} tensors)" for part, count in counts.items()) or "nothing"


def transfer(
    model: Model, weights: Mapping[str, Tensor], source: str, *, keep_heads: bool
) -> Transfer:
    """Load a parent's weights into a model: the base exactly, each head whole or not at all."""
    own = model.state_dict()
    if POSITIONS in own:
        weights = cut_positions(weights, len(own[POSITIONS]))
    base_names = [name for name in own if name.startswith(BASE)]
    _check_exact(
        _shapes({name: own[name] for name in base_names}),
        _shapes({name: value for name, value in weights.items() if name.startswith(BASE)}),
        source,
    )
    chosen = list(base_names)
    for head in model.head_specs if keep_heads else ():
        prefix = f"heads.{head}."
        names = [name for name in own if name.startswith(prefix)]
        offered = [name for name in weights if name.startswith(prefix)]
        if sorted(names) == sorted(offered) and all(
            own[name].shape == weights[name].shape for name in names
        ):
            chosen += names
    model.load_state_dict({**own, **{name: weights[name] for name in chosen}})
    return Transfer(
        taken=chosen,
        new=[name for name in own if name not in chosen],
        left=sorted(name for name in weights if name not in chosen),
    )


def cut_positions(weights: Mapping[str, Tensor], context: int) -> Mapping[str, Tensor]:
    """Return weights whose learned positions, if there are any, end with a shorter context."""
    if POSITIONS not in weights:
        return weights
    return {**weights, POSITIONS: weights[POSITIONS][:context]}


def check_same_architecture(parent: ModelSpec, own: ModelSpec, source: str) -> None:
    """Raise a MismatchError if a choice that changes the meaning of the tensors differs.

    Learned positions can be cut to a shorter context, not extended to a longer one.
    """
    if own.position.kind == parent.position.kind == "learned" and own.context > parent.context:
        raise MismatchError(
            f"{source} has learned positions, which end with its context.",
            expected=f"model.context = {parent.context} or less",
            found=f"{own.context}",
            hint="longer texts are cut, or read in windows",
        )
    changed = [
        f"model.{name} was {getattr(parent, name)!r}, now {getattr(own, name)!r}"
        for name in ModelSpec.model_fields
        if name not in FREE_CHOICES and getattr(parent, name) != getattr(own, name)
    ]
    if changed:
        raise MismatchError(
            f"The weights of {source} were made for another architecture.",
            expected="the choices of the parent run",
            found="; ".join(changed),
            hint="do not change these keys, or train from scratch",
        )


def load_exact(model: Model, weights: Mapping[str, Tensor], source: str) -> None:
    """Load weights that must match the model's tensors exactly."""
    _check_exact(_shapes(model.state_dict()), _shapes(weights), source)
    model.load_state_dict(dict(weights), assign=False)


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _check_exact(expected: Mapping[str, Shape], found: Mapping[str, Shape], source: str) -> None:
    problems = [f"{name} is missing" for name in expected if name not in found]
    problems += [f"{name} is not part of this model" for name in found if name not in expected]
    problems += [
        f"{name} has shape {found[name]}, not {expected[name]}"
        for name in expected
        if name in found and found[name] != expected[name]
    ]
    if problems:
        more = f" … and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise MismatchError(
            f"The weights of {source} do not fit this model.",
            expected="the same architecture: every tensor of the same name and shape",
            found="; ".join(problems[:3]) + more,
            hint="use the parent's recipe, or train from scratch with this one",
        )
