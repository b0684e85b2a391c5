"""Tables: one definition as HTML, Markdown and CSV, with raw values and safe texts."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree
from typing import get_args

import pytest

from greffe.report import evidence_tables
from greffe.report.catalog import load_catalog
from greffe.report.curve_tables import differences_table, epochs_table, labels_table, savings_table
from greffe.report.number_format import Language
from greffe.report.report_table import (
    Column,
    Table,
    cell,
    markdown_text,
    number_column,
    scrolling_html,
    table_csv,
    table_html,
    table_markdown,
    text_column,
)
from greffe.report.result_tables import (
    arms_table,
    comparisons_table,
    confusion_table,
    cost_table,
    ways_table,
)
from greffe.report.study_page import study_tables
from greffe.study.document import StudyDocument

ENGLISH = load_catalog("en")
FRENCH = load_catalog("fr")


def small_table() -> Table:
    """A table with a text that must be escaped, an interval and a missing value."""
    columns = [
        text_column("name & co", "name"),
        number_column("interval", "low", "high"),
        Column("seen", ("seen",)),
    ]
    rows = [
        [cell("<b>|x|</b>"), cell("1 to 2", 0.01, 0.02), cell("–", None)],
        [cell("a\nb", "raw, text"), cell("3 to 4", 0.03, 0.04), cell("5", 5)],
    ]
    return Table("small", 'A "small" table', columns, rows, frozenset({1}))


def read_csv(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table_csv(table))))


def test_html_escapes_and_heads_rows_and_columns() -> None:
    tree = ElementTree.fromstring(table_html(small_table()))
    assert tree.findtext("caption") == 'A "small" table'
    assert [head.text for head in tree.findall("thead/tr/th")] == ["name & co", "interval", "seen"]
    assert [head.get("scope") for head in tree.findall("tbody/tr/th")] == ["row", "row"]
    assert tree.findtext("tbody/tr/th") == "<b>|x|</b>"


def test_html_carries_raw_figures_and_marks_totals() -> None:
    tree = ElementTree.fromstring(table_html(small_table()))
    first, second = tree.findall("tbody/tr")
    assert [one.get("data-value") for one in first.findall("td")] == ["0.01 0.02", ""]
    assert (first.get("class"), second.get("class")) == (None, "total")


def test_a_wide_table_scrolls_in_a_named_region_that_takes_the_keyboard() -> None:
    region = ElementTree.fromstring(scrolling_html(small_table()))
    assert region.get("tabindex") == "0"
    assert region.get("aria-label") == 'A "small" table'


def test_markdown_keeps_its_columns() -> None:
    lines = table_markdown(small_table()).splitlines()
    assert lines == [
        "| name &amp; co | interval | seen |",
        "| --- | ---: | ---: |",
        r"| \<b\>\|x\|\</b\> | 1 to 2 | – |",
        "| a b | 3 to 4 | 5 |",
    ]


def test_markdown_text_keeps_no_break_spaces() -> None:
    assert markdown_text("5\u00a0% *x*\r\n_y_") == "5\u00a0% \\*x\\* \\_y\\_"


def test_csv_has_raw_values_under_their_names() -> None:
    assert read_csv(small_table()) == [
        {"name": "<b>|x|</b>", "low": "0.01", "high": "0.02", "seen": ""},
        {"name": "raw, text", "low": "0.03", "high": "0.04", "seen": "5"},
    ]


def test_a_row_that_does_not_fit_its_columns_is_our_bug() -> None:
    with pytest.raises(AssertionError):
        Table("bad", "", [number_column("x", "low", "high")], [[cell("1", 1)]])


# --- of a study -----------------------------------------------------------------------------------


def test_csv_is_the_same_in_every_language(study: StudyDocument) -> None:
    english, french = (
        {table.name: read_csv(table) for table in study_tables(study, load_catalog(language))}
        for language in get_args(Language)
    )
    spoken = {"findings"}
    assert {name for name in english if english[name] != french[name]} <= spoken


def test_every_table_is_named_once(study: StudyDocument) -> None:
    names = [table.name for table in study_tables(study, ENGLISH)]
    assert len(names) == len(set(names))
    assert {
        *("arms", "comparisons", "epochs", "labels", "confusion", "parameters"),
        *("calibration", "cost", "findings", "disagreements"),
    } <= set(names)


def test_every_table_survives_without_data(bare_study: StudyDocument) -> None:
    for table in study_tables(bare_study, FRENCH):
        table_csv(table), table_html(table), table_markdown(table)


def test_arms(study: StudyDocument) -> None:
    first = read_csv(arms_table(study, ENGLISH))[0]
    assert (first["arm"], first["kind"]) == ("pretrained", "pretrained")
    assert float(first["accuracy"]) == pytest.approx(0.813)
    assert float(first["accuracy_high"]) == pytest.approx(0.833)
    assert float(first["accuracy_everywhere"]) == pytest.approx(0.819)
    assert [one.shown for one in arms_table(study, FRENCH).rows[0]][:3] == [
        "préentraîné",
        "81,3\u00a0%",
        "de 79,3 à 83,3\u00a0%",
    ]


def test_the_column_for_repeated_texts_is_there_only_if_some_are(bare_study: StudyDocument) -> None:
    table = arms_table(bare_study, ENGLISH)
    assert "accuracy_everywhere" not in [key for column in table.columns for key in column.keys]


def test_teachers_have_a_column_only_if_there_are_some(
    study: StudyDocument, stacked_runs_study: StudyDocument
) -> None:
    assert "feature_runs" not in read_csv(ways_table(study, ENGLISH))[0]
    rows = {
        row["arm"]: row["feature_runs"] for row in read_csv(ways_table(stacked_runs_study, ENGLISH))
    }
    assert rows["stacked+runs"] == "runs/teacher" and rows["stacked"] == ""


def test_comparisons(study: StudyDocument) -> None:
    rows = read_csv(comparisons_table(study, ENGLISH))
    assert [(row["first"], row["second"], row["is_significant"]) for row in rows] == [
        ("pretrained", "scratch", "True"),
        ("pretrained", "tfidf", "False"),
        ("stacked", "tfidf", "True"),
        ("stacked", "pretrained", "True"),
    ]
    shown = [one.shown for one in comparisons_table(study, ENGLISH).rows[1]]
    assert shown[:3] == ["pretrained − TF-IDF", "+1.7", "−0.5 to +3.9"]
    assert len(read_csv(differences_table(study, ENGLISH))[0]["by_seed"].split()) == 8


def test_curves(study: StudyDocument) -> None:
    epochs = read_csv(epochs_table(study, ENGLISH))
    assert [row["arm"] for row in epochs] == ["pretrained"] * 6 + ["scratch"] * 6
    labels = read_csv(labels_table(study, ENGLISH))
    assert [row["labels"] for row in labels[:6]] == ["50", "100", "200", "400", "800", "1600"]
    last = savings_table(study, ENGLISH).rows[-1]
    assert [one.shown for one in last[3:]] == ["more than 1,600", "1,300 to more than 1,600"]
    assert last[3].values == (None,)


def test_confusion_has_a_line_for_each_pair_of_classes(study: StudyDocument) -> None:
    rows = read_csv(confusion_table(study, ENGLISH))
    assert len(rows) == 4 * len(study.arms)
    only = read_csv(confusion_table(study, ENGLISH, study.arms[1]))
    assert {row["arm"] for row in only} == {"scratch"}
    assert sum(float(row["share"]) for row in only[:2]) == pytest.approx(1)


def test_costs_that_are_not_known_are_dashes(study: StudyDocument) -> None:
    table = cost_table(study, ENGLISH)
    tfidf = next(row for row in table.rows if row[0].values == ("tfidf",))
    assert [one.shown for one in tfidf] == [
        *("TF-IDF", "3.2\u00a0s", "–", "–", "312,004", "–", "–")
    ]


def test_a_large_matrix_is_thinned_and_says_so(study: StudyDocument) -> None:
    mask, positions = study.pictures
    assert len(evidence_tables.matrix_table(mask, ENGLISH).rows) == 16
    table = evidence_tables.matrix_table(positions, ENGLISH)
    assert len(table.rows) <= evidence_tables.LARGEST_SIDE
    assert len(table.columns) <= evidence_tables.LARGEST_SIDE + 1
    assert "One row in 3 and one column in 6" in table.title
    assert table.rows[1][1].values == (positions.values[3][0],)


def test_only_the_pretrained_arm_begins_with_the_base(study: StudyDocument) -> None:
    rows = read_csv(evidence_tables.hashes_table(study, ENGLISH))
    assert {row["arm"]: row["is_base"] for row in rows} == {
        "pretrained": "True",
        "scratch": "False",
    }
    base = study.proof.base_hash
    for hashes in ([base, "0" * 64], ["0" * 64, "0" * 64]):
        broken = study.proof.model_copy(update={"initial_hashes": {"pretrained": hashes}})
        changed = study.model_copy(update={"proof": broken})
        assert read_csv(evidence_tables.hashes_table(changed, ENGLISH))[0]["is_base"] == "False"


@pytest.mark.parametrize(
    ("language", "block", "formula"),
    [("en", "all layers", "4 × 242,000"), ("fr", "toutes les couches", "4 × 242\u202f000")],
)
def test_parameters(study: StudyDocument, language: Language, block: str, formula: str) -> None:
    rows = study.parameters["runs/base"]
    table = evidence_tables.parameters_table(rows, "runs/base", load_catalog(language))
    assert [one.shown for one in table.rows[2][:2]] == [block, formula]
    assert table.emphasised == {4, 7}
