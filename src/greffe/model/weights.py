"""Weights as named tensors: safetensors in and out, hashes, and what passes from run to run.

Loading is strict: a base fits exactly or it is an error that names the tensors. Never unpickles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.errors import CorruptError, MismatchError
from greffe.model.model import Model
from greffe.storage import write_atomic

BASE = "base."


# --- tensors ------------------------------------------------------------------------------------


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors atomically; returns the file's SHA-256."""
    data = dump_tensors({name: tensor.detach().contiguous() for name, tensor in tensors.items()})
    write_atomic(path, data)
    return hashlib.sha256(data).hexdigest()


def load_tensors(path: Path, expected_hash: str | None = None) -> dict[str, Tensor]:
    """Read tensors; a damaged or truncated file is an error that says so."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CorruptError(
            f"{path} is missing.", expected="weights", found="no such file"
        ) from None
    if expected_hash is not None and (found := hashlib.sha256(data).hexdigest()) != expected_hash:
        raise CorruptError(
            f"{path} is damaged or was replaced.",
            expected=f"content with SHA-256 {expected_hash[:12]}… ",
            found=f"{found[:12]}…, {len(data):,} bytes",
            hint="copy the run again from where it came, or train it anew",
        )
    try:
        return parse_tensors(data)
    except SafetensorError as error:
        raise CorruptError(
            f"{path} is damaged or truncated.", expected="a safetensors file", found=str(error)
        ) from None


def tensors_hash(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, shapes and values; equal weights give equal hashes."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous()
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def is_finite(model: Model) -> bool:
    """Whether every weight is a number: others are not worth keeping."""
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def base_hash(model: Model) -> str:
    """Hash of the base alone: both arms of a comparison record it before their first step."""
    state = model.state_dict()
    return tensors_hash({name: state[name] for name in state if name.startswith(BASE)})


def head_hash(model: Model) -> str:
    """Hash of the heads alone: arms of one seed begin with the same one."""
    state = model.state_dict()
    return tensors_hash({name: state[name] for name in state if not name.startswith(BASE)})


# --- transfer -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transfer:
    """What became of each tensor when one run's weights were put into another's model."""

    taken: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def describe(self, source: str, show_tensors: bool = False) -> str:
        """One sentence that nobody can misread; on demand tensor by tensor below it."""
        parts = [f"taken over from {source}: {_group(self.taken)}"]
        parts += [f"new, still to be learnt: {_group(self.new)}"] if self.new else []
        parts += [f"left behind: {_group(self.left)}"] if self.left else []
        lines = ["; ".join(parts)]
        if show_tensors:
            groups = (("taken", self.taken), ("new", self.new), ("left", self.left))
            lines += [f"  {word:<6} {name}" for word, names in groups for name in names]
        return "\n".join(lines)


def _group(names: list[str]) -> str:
    """`base (38 tensors), head masked_token (5)`."""
    counts: dict[str, int] = {}
    for name in names:
        place = "base" if name.startswith(BASE) else f"head {name.split('.')[1]}"
        counts[place] = counts.get(place, 0) + 1
    return ", ".join(f"{place} ({count} tensors)" for place, count in counts.items()) or "nothing"


def transfer(
    model: Model, weights: Mapping[str, Tensor], source: str, *, keep_heads: bool
) -> Transfer:
    """Put a parent's weights into a model: the base exactly, heads whole or not at all."""
    own = model.state_dict()
    base_names = [name for name in own if name.startswith(BASE)]
    _check_exact(
        {name: own[name] for name in base_names},
        {name: value for name, value in weights.items() if name.startswith(BASE)},
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


def check_same_architecture(parent: ModelSpec, own: ModelSpec, source: str) -> None:
    """The shape, and choices that no shape shows: with others, tensors mean something else."""
    names = (
        *("width", "layers", "feed_forward", "heads"),
        *("position", "norm", "activation", "scale_embedding"),
    )
    changed = [
        f"model.{name} was {getattr(parent, name)!r}, now {getattr(own, name)!r}"
        for name in names
        if getattr(parent, name) != getattr(own, name)
    ]
    if changed:
        raise MismatchError(
            f"The weights of {source} were made for another architecture.",
            expected="the parent's own choices",
            found="; ".join(changed),
            hint="leave these keys as they are, or train from scratch",
        )


def load_exact(model: Model, weights: Mapping[str, Tensor], source: str) -> None:
    """Fill a model whose tensors must be exactly these."""
    _check_exact(model.state_dict(), weights, source)
    model.load_state_dict(dict(weights), assign=False)


def _check_exact(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], source: str) -> None:
    problems = [f"{name} is missing" for name in expected if name not in found]
    problems += [f"{name} is not part of this model" for name in found if name not in expected]
    problems += [
        f"{name} has shape {tuple(found[name].shape)}, not {tuple(expected[name].shape)}"
        for name in expected
        if name in found and found[name].shape != expected[name].shape
    ]
    if problems:
        more = f" … and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise MismatchError(
            f"The weights of {source} do not fit this model.",
            expected="the same architecture: every tensor of the same name and shape",
            found="; ".join(problems[:3]) + more,
            hint="use the parent's own recipe, or train from scratch with this one",
        )
