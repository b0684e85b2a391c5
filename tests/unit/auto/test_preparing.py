"""The base of a fit: given, shipped, or none for another language."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from greffe.auto.preparing import auxiliary_seconds, choose_bases, folder_size
from greffe.data.tables import Example
from greffe.errors import GreffeError
from greffe.run import RunDirectory


def test_a_base_that_is_given_is_used(
    fresh_run: Callable[..., RunDirectory], examples: list[Example]
) -> None:
    base, other = fresh_run("base"), fresh_run("other")
    found = choose_bases([base.path, other.path], examples)
    assert [one.path for one in found] == [base.path, other.path]
    with pytest.raises(GreffeError):
        choose_bases([base.path, base.path / "nothing"], examples)


def test_the_shipped_base_is_for_texts_in_its_language(examples: list[Example]) -> None:
    assert [one.name for one in choose_bases([], examples)] == ["greffe-fr"]
    foreign = [Example("Wszystkie książki są świetne, zwłaszcza źdźbło i gżegżółka", "a")]
    assert choose_bases([], foreign) == []


def test_the_size_is_that_of_the_runs_own_files(fresh_run: Callable[..., RunDirectory]) -> None:
    run = fresh_run("base")
    size = folder_size(run)
    assert size > run.weights_path.stat().st_size
    (run.path / "parts").mkdir()
    (run.path / "parts" / "more").write_bytes(b"x" * 100)
    assert folder_size(run) == size


def test_texts_that_balancing_leaves_out_take_no_time(
    fresh_run: Callable[..., RunDirectory],
) -> None:
    base = fresh_run("base")
    negative, positive = ([Example("Un livre", label)] * 100 for label in ("a", "b"))
    balanced = auxiliary_seconds(base, [[*negative, *positive]])
    assert balanced > 0
    more = auxiliary_seconds(base, [[*negative, *positive * 2]])
    assert more == pytest.approx(1.5 * balanced)
    most = auxiliary_seconds(base, [[*negative, *positive * 20]])
    assert most == pytest.approx(1.75 * balanced), "two and a half positive texts to a negative one"
