"""What a study is asked to do."""

from __future__ import annotations

import pytest

from greffe.config.options import Tables
from greffe.data.tables import Example
from greffe.errors import RecipeError
from greffe.run import RunDirectory
from greffe.study.arms import AskedArms
from greffe.study.request import StudyRequest

ARMS = AskedArms(base=RunDirectory("runs/base"))


def request(**options: object) -> StudyRequest:
    return StudyRequest(arms=ARMS, **{"tables": Tables(data="a.tsv"), **options})  # type: ignore[arg-type]


def test_seeds_are_counted_from_one_or_named() -> None:
    assert request(seeds=3).seed_numbers == [1, 2, 3]
    assert request(seeds=[0, 7]).seed_numbers == [0, 7]


@pytest.mark.parametrize("seeds", [0, [], [1, 1], [-1]])
def test_seeds_that_cannot_be_used(seeds: object) -> None:
    with pytest.raises(RecipeError, match="seeds"):
        assert request(seeds=seeds).seed_numbers


def test_only_files_are_paths() -> None:
    tables = Tables(data="a.tsv", valid=[Example("x", "y")], aux_data=["b.tsv"])
    assert request(tables=tables, corpus=["c.txt"]).paths == ["a.tsv", "b.tsv", "c.txt"]
