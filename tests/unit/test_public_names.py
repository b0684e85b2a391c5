"""The public names, which other imports must not replace."""

from __future__ import annotations

import importlib
import inspect

import pytest

import greffe


def test_public_names_are_sorted() -> None:
    assert greffe.__all__ == sorted(greffe.__all__)


@pytest.mark.parametrize("name", greffe.__all__)
def test_public_names_are_classes_and_functions(name):
    importlib.import_module("greffe.report")
    importlib.import_module("greffe.doctor")
    for _ in range(2):
        found = getattr(greffe, name)
        assert inspect.isclass(found) if name[0].isupper() else inspect.isfunction(found)
