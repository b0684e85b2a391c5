"""Questions 2 and 3: shapes, answers of both heads, and tables of mistakes."""

from __future__ import annotations

from tests.unit.report.parsed_page import read_csv

from greffe.lab.head_sections import MISTAKES, counting_section, heads_section
from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_page import lab_catalog
from greffe.report.blocks import Section
from greffe.report.report_table import Table

ENGLISH = lab_catalog("en")


def tables(section: Section) -> dict[str, list[dict[str, str]]]:
    """The rows of a section's tables."""
    return {block.name: read_csv(block) for block in section.blocks if isinstance(block, Table)}


def test_shapes_and_answers_of_both_heads(document: LabDocument) -> None:
    found = tables(heads_section(document.heads, ENGLISH))
    shapes = {row["aspect"]: row for row in found["heads"]}
    assert shapes["weight"]["classifier"] == "[2,\u00a0200]"
    assert shapes["scores"]["language_model"] == "[1,\u00a012,\u00a050001]"
    assert shapes["hidden"]["classifier"] == shapes["hidden"]["language_model"]
    assert [row["after"] for row in found["next_words"]] == ["<sos>", "Un"]
    assert found["next_words"][0]["expected"] == "Un (40%), Le (20%)"
    assert [float(row["probability"]) for row in found["classes"]] == [0.08, 0.92]


def test_every_mistake_is_in_one_table_below_the_right_totals(document: LabDocument) -> None:
    found = tables(counting_section(document.counting, ENGLISH))
    listed = {name: [row["mistake"] for row in found[f"mistakes_{name}"]] for name in MISTAKES}
    assert all(kinds[0] == "none" for kinds in listed.values())
    assert sorted(kind for kinds in listed.values() for kind in kinds[1:]) == sorted(
        mistake.kind for mistake in document.counting.mistakes
    )
    for name in MISTAKES:
        first = found[f"mistakes_{name}"][0]
        assert (first["base"], first["classifier"]) == ("10968200", "10968602")


def test_a_count_that_disagrees_is_not_called_the_same(document: LabDocument) -> None:
    counting = document.counting
    wrong = counting.rows[0].model_copy(update={"counted": counting.rows[0].counted + 1})
    changed = counting.model_copy(update={"rows": [wrong, *counting.rows[1:]]})
    same, different = (
        [getattr(block, "text", "") for block in counting_section(one, ENGLISH).blocks]
        for one in (counting, changed)
    )
    assert ENGLISH("lab.counting.same") in same
    assert ENGLISH("lab.counting.same") not in different
