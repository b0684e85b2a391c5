"""Sections about models: shared tables, drawings of runs, samples by run."""

from __future__ import annotations

from tests.builders import parameter_rows, pictures, samples

from greffe.report.blocks import Figure, Partial
from greffe.report.catalog import load_catalog
from greffe.report.model_sections import parameters_section, pictures_section, samples_section
from greffe.report.report_table import Table

ENGLISH = load_catalog("en")


def test_runs_of_one_shape_share_a_table() -> None:
    rows = parameter_rows()
    section = parameters_section({"a": rows, "b": rows[:3], "c": list(rows), "d": []}, ENGLISH)
    assert section is not None
    tables = [block for block in section.blocks if isinstance(block, Table)]
    assert [table.title for table in tables] == [
        ENGLISH("table.parameters_of", name=name) for name in (ENGLISH.listing(["a", "c"]), "b")
    ]
    assert [len(table.rows) for table in tables] == [8, 3]


def test_a_drawing_names_its_run_if_that_matters() -> None:
    mask, positions = pictures()
    section = pictures_section([(mask, ""), (positions, "runs/a")], ENGLISH)
    assert section is not None
    figures = [block for block in section.blocks if isinstance(block, Figure)]
    assert [figure.ident for figure in figures] == ["picture-1", "picture-2"]
    assert [figure.title for figure in figures] == [
        ENGLISH.label(mask.title),
        f"{ENGLISH.label(positions.title)} (runs/a)",
    ]


def test_samples_are_grouped_by_run() -> None:
    first, second = samples()
    other = first.model_copy(update={"run": "runs/other"})
    section = samples_section([first, other, second], ENGLISH)
    assert section is not None
    blocks = [block for block in section.blocks if isinstance(block, Partial)]
    assert [(block.values["run"], block.values["samples"]) for block in blocks] == [
        ("runs/base", [first, second]),
        ("runs/other", [other]),
    ]


def test_sections_without_data_are_none() -> None:
    assert parameters_section({"a": []}, ENGLISH) is None
    assert pictures_section([], ENGLISH) is None
    assert samples_section([], ENGLISH) is None
