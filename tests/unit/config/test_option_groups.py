"""Option groups: flat keywords, ready-made groups, help texts."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

from greffe.config.field_docs import field_docs
from greffe.config.option_groups import OptionGroup, Without, flat_keywords
from greffe.config.options import Output, Training


@flat_keywords
def train(
    text: str,
    output: Output,
    *,
    training: Annotated[Training, Without("soup")],
    valid: float = 0.1,
) -> tuple[str, Output, Training, float]:
    """Train something."""
    return text, output, training, valid


def test_fields_are_keywords() -> None:
    assert train("a", out="b", budget="3m", valid=0.2) == (
        "a",
        Output(out="b"),
        Training(budget="3m"),
        0.2,
    )


def test_required_fields_of_a_positional_group_are_positional() -> None:
    assert train("a", "b", overwrite=True)[1] == Output(out="b", overwrite=True)
    with pytest.raises(TypeError, match="positional"):
        train("a", "b", True)
    with pytest.raises(TypeError, match="missing a required argument: 'out'"):
        train("a")


def test_ready_made_groups() -> None:
    output, training = Output(out="b"), Training(seed=3)
    assert train("a", output=output, training=training) == ("a", output, training, 0.1)
    assert train("a", "b", training=training)[2] is training
    with pytest.raises(TypeError, match="takes output as Output, not as Training"):
        train("a", output=training)
    with pytest.raises(TypeError, match="both as a keyword and in training"):
        train("a", "b", training=training, seed=4)
    with pytest.raises(TypeError, match="does not use 'soup' of training"):
        train("a", "b", training=Training(soup=2))


def test_unknown_keyword() -> None:
    with pytest.raises(
        TypeError, match=r"train\(\) got an unexpected keyword argument 'bugdet'; did .* 'budget'"
    ):
        train("a", "b", bugdet="3m")
    with pytest.raises(TypeError, match="unexpected keyword argument 'soup'"):
        train("a", "b", soup=3)


def test_signature_and_docstring_show_the_fields() -> None:
    names = list(inspect.signature(train).parameters)
    assert names[:3] == ["text", "out", "overwrite"]
    assert "soup" not in names and names[-1] == "valid"
    assert train.__doc__ is not None
    assert train.__doc__.startswith("Train something.")
    assert "    budget: How long to train" in train.__doc__
    assert "soup" not in train.__doc__


def test_docstrings_of_fields() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Group(OptionGroup):
        a: int
        """First,
        second."""
        b: int = 1

    assert field_docs(Group) == {"a": "First, second."}
