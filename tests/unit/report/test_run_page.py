"""The page of plain runs."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from tests.unit.report.parsed_page import Page

from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.page import page_html
from greffe.report.run_page import named_apart, runs_page
from greffe.study.run_document import RunDocument


@pytest.mark.parametrize("language", get_args(Language))
def test_the_page_of_runs(runs: list[RunDocument], language: Language) -> None:
    catalog = load_catalog(language)
    html = page_html(runs_page(runs, catalog), catalog)
    found = Page(html)
    assert [one["id"] for one in found.all("section")] == [
        *("runs", "training", "parameters", "pictures", "samples", "repeat")
    ]
    assert "runs/<tuned>" in "".join(found.text)
    titles = re.findall(r"<figcaption><strong>(.*?)</strong>", html)
    # Loss of training, loss and accuracy of validation, the mask and the positions once.
    assert len(titles) == 5
    assert not any("rows" in title for title in titles)


def test_an_empty_run_has_a_page_too(runs: list[RunDocument]) -> None:
    catalog = load_catalog("en")
    empty = runs[0].model_copy(
        update={"loss": [], "valid": {}, "parameters": [], "pictures": [], "samples": []}
    )
    found = Page(page_html(runs_page([empty], catalog), catalog))
    assert [one["id"] for one in found.all("section")] == ["runs", "repeat"]


def test_runs_of_one_name_stay_apart(runs: list[RunDocument]) -> None:
    found = named_apart([runs[0], runs[0], runs[1]])
    assert [run.name for run in found] == ["runs/base", "runs/base (2)", "runs/<tuned>"]
    assert {sample.run for sample in found[1].samples} == {"runs/base (2)"}
