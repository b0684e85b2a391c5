"""A folder in Hugging Face format → a base: config.json, weights and tokenizer fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from greffe.config.components import HeadSpec
from greffe.config.families import NATIVE
from greffe.config.sections import ModelSpec, TokenizerSpec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, InputError, MismatchError, quote
from greffe.interop.foreign_base import ForeignBase
from greffe.interop.huggingface import families
from greffe.interop.huggingface.assemble import plan_tensors
from greffe.interop.huggingface.config import CONFIG_FILE, Config
from greffe.interop.huggingface.esm import Esm
from greffe.interop.huggingface.family import Family
from greffe.interop.huggingface.files import open_tensor_files
from greffe.interop.huggingface.own_code import Own
from greffe.model.formulas import count_parameters
from greffe.model.memory import require_memory, weights_need
from greffe.storage import first_problem, read_json

LONGEST_CONTEXT = 512
"""Of a base without a table of positions: its attention reads any length, at a cost."""

assert families  # importing them registers them


def read_folder(folder: Path, read_tokenizer: Callable[[int], Tokenizer]) -> ForeignBase:
    """Return the base in a folder; `read_tokenizer` is given the rows of the embedding.

    Everything is checked before a tensor is read: sizes, memory, tokenizer, names and shapes.
    """
    config = read_config(folder)
    family = find_family(config)
    model, vocab = _model(family, config)
    layout = family.layout(model, config)
    require_memory(
        weights_need(model, vocab, [head.spec for head in layout.heads.values()]),
        f"The model that {config.source} describes",
        hint="import a smaller model of the same family",
    )
    files = open_tensor_files(folder)
    plan = plan_tensors(layout, family.prefix, model, vocab, files.shapes, str(folder))
    parameters = plan.published(files.shapes)
    _check_count(config, model, vocab, plan.heads, layout.folded, parameters)
    return ForeignBase(
        objective=family.pretrained_as(config),
        model=model,
        vocab=vocab,
        heads=plan.heads,
        tensors=lambda: plan.read(files.load),
        tokenizer=read_tokenizer(vocab),
        files=files.files,
        parameters=parameters,
        folded=layout.folded,
    )


def read_config(folder: Path) -> Config:
    """Return the values of a folder's config.json."""
    path = folder / CONFIG_FILE
    if not path.exists():
        raise InputError(
            f"{folder} has no {CONFIG_FILE}.",
            expected=f"a folder in Hugging Face format: {CONFIG_FILE}, weights, tokenizer.json",
            hint="give the folder that holds it; a model of the hub is named hf:owner/name",
        )
    values = read_json(path, "the configuration of a model")
    if not isinstance(values, dict):
        raise CorruptError(
            f"{path} is damaged.", expected="names and values", found=f"{quote(values)}"
        )
    return Config(values, str(path))


def find_family(config: Config) -> Family:
    """Return the family of a configuration, by its model_type."""
    name = config.values.get("model_type")
    known = (*Family.registry.values(), Own(), Esm())
    by_type = {kind: family for family in known for kind in family.model_types}
    if not isinstance(name, str) or name not in by_type:
        raise InputError(
            f"{config.source} is of a family that greffe does not know.",
            expected=f"model_type: {', '.join(sorted(by_type))}",
            found=quote(name) if "model_type" in config.values else "no model_type",
        )
    return by_type[name]


def _check_count(
    config: Config,
    model: ModelSpec,
    vocab: int,
    heads: Mapping[str, HeadSpec],
    folded: Mapping[str, int],
    counted: int,
) -> None:
    """Raise an error unless the file has as many parameters as the configuration says.

    Tensors that are folded into others, such as token types, have no shape to compare with.
    """
    pooler = [head for kind, head in heads.items() if kind == "pooled"]
    expected = count_parameters(model, vocab, pooler) + sum(folded.values())
    if expected != counted:
        raise MismatchError(
            f"The weights in {Path(config.source).parent} do not fit {CONFIG_FILE}.",
            expected=f"{expected:,} parameters, {', '.join(folded) or 'nothing'} folded or cut",
            found=f"{counted:,} parameters",
            hint=f"check that {CONFIG_FILE} and the weights belong together",
        )


def _model(family: Family, config: Config) -> tuple[ModelSpec, int]:
    """Return the shape of the base, with bounds checked, and the rows of its embedding."""
    try:
        model = ModelSpec.model_validate({"family": family.name, **family.model(config)})
        vocab = TokenizerSpec(vocab=family.vocab(config)).vocab
    except ValidationError as error:
        raise InputError(
            f"{config.source} describes a model that greffe cannot build.",
            expected="sizes that belong together, within greffe's bounds",
            found=first_problem(error),
        ) from None
    is_exact = model.position.kind == "learned" or family.name == NATIVE
    if not is_exact and model.context > LONGEST_CONTEXT:
        model = model.model_copy(update={"context": LONGEST_CONTEXT})
    return model, vocab
