from __future__ import annotations

import copy

import pytest

from greffe import errors
from greffe.errors import GreffeError, MissingExtraError, quote

TREE = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, GreffeError)
]


def test_an_error_prints_its_parts() -> None:
    assert str(GreffeError("Wrong.")) == "Wrong."
    whole = GreffeError("Wrong.", expected="a", found="b", hint="c")
    lines = str(whole).splitlines()
    assert lines[0] == "Wrong."
    assert [line.split()[-1] for line in lines[1:]] == ["a", "b", "c"]
    assert (whole.message, whole.expected, whole.found, whole.hint) == ("Wrong.", "a", "b", "c")


@pytest.mark.parametrize("kind", TREE)
def test_every_error_has_the_exit_code_of_its_documentation(kind: type[GreffeError]) -> None:
    documented = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        name = next((word for word in line.split() if word.endswith("Error")), None)
        if name is None:
            continue
        depth = line.index(name) // 4
        path[depth:] = [name]
        code = line.split("exit code ")[1].split(":")[0] if "exit code" in line else None
        documented[name] = int(code) if code else documented[path[depth - 1]]
    assert documented[kind.__name__] == kind.exit_code


@pytest.mark.parametrize("kind", TREE)
def test_every_error_comes_from_another_process_as_it_is(kind: type[GreffeError]) -> None:
    if kind is MissingExtraError:
        error: GreffeError = MissingExtraError("pyarrow", "parquet", "Reading .parquet")
    else:
        error = kind("Wrong.", expected="a", found="b", hint="c")
    again = copy.copy(error)  # as multiprocessing takes it apart and builds it again
    assert type(again) is kind and again is not error
    assert str(again) == str(error)


def test_a_missing_library_says_how_to_install_it() -> None:
    error = MissingExtraError("pyarrow", "parquet", "Reading .parquet")
    assert "pyarrow" in error.message and "Reading .parquet" in error.message
    assert error.hint == 'pip install "greffe[parquet]"'


def test_values_in_messages_are_short() -> None:
    assert quote("été") == "'été'"
    assert quote([1, 2.5, None]) == "[1, 2.5, None]"
    assert len(quote("x" * 10**6)) < 300
    assert "thousands of digits" in quote(10**5000)
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    assert len(quote(deep)) < 300
