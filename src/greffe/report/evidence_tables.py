"""Tables of what stands behind a study's figures: texts, models, transfer, findings, inputs.

Some serve plain runs as well. Knows documents and words, nothing of pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from greffe.report.cells import (
    SHOWN_HASH,
    answer_cell,
    count_cell,
    hash_cell,
    interval_cell,
    percent_cell,
)
from greffe.report.tables import Cell, Raw, Table, cell, number_column, text_column
from greffe.report.verdict import arm_name
from greffe.report.words import Words
from greffe.study.document import Matrix, ParameterRow, Repeat, Sample, StudyDocument

LARGEST_SIDE = 24
"""Of a matrix that is written out as a table."""


def disagreements_table(document: StudyDocument, words: Words) -> Table:
    """One line a text and an arm's reading of it."""
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    rows = [
        [
            cell(one.text),
            cell(one.truth),
            cell(names.get(reading.arm, reading.arm), reading.arm),
            cell(reading.label),
            percent_cell(words, reading.probability),
        ]
        for one in document.disagreements
        for reading in one.readings
    ]
    columns = [
        text_column(words("column.text"), "text"),
        text_column(words("column.truth"), "truth"),
        text_column(words("column.arm"), "arm"),
        text_column(words("column.answer"), "answer"),
        number_column(words("column.probability"), "probability"),
    ]
    return Table("disagreements", words("table.disagreements"), columns, rows)


def parameters_table(rows: Sequence[ParameterRow], name: str, words: Words) -> Table:
    """Block by block, formula beside count."""
    return Table(
        "parameters",
        words("table.parameters", name=name),
        [
            text_column(words("column.block"), "block"),
            text_column(words("column.formula"), "formula"),
            number_column(words("column.closed"), "closed"),
            number_column(words("column.counted"), "counted"),
        ],
        [
            [
                cell(words.model_part(row.block), row.block),
                cell(words.formula(row.formula), row.formula),
                count_cell(words, row.closed),
                count_cell(words, row.counted),
            ]
            for row in rows
        ],
        frozenset(index for index, row in enumerate(rows) if row.is_total),
    )


def all_parameters_table(
    by_run: Mapping[str, Sequence[ParameterRow]], title: str, words: Words
) -> Table:
    """The parameters of every run, one below the other."""
    tables = [(run, parameters_table(rows, run, words)) for run, rows in by_run.items()]
    columns = parameters_table([], "", words).columns
    return Table(
        "parameters",
        title,
        [text_column(words("column.run"), "run"), *columns],
        [[cell(run), *row] for run, table in tables for row in table.rows],
    )


def matrix_table(matrix: Matrix, words: Words) -> Table:
    """A matrix written out; of a large one every so many rows and columns, and it says so."""
    down, across = _step(len(matrix.values)), _step(len(matrix.values[0]))
    rows = range(0, len(matrix.values), down)
    columns = range(0, len(matrix.values[0]), across)
    title = words.model_part(matrix.title)
    if max(down, across) > 1:
        title += f". {words('figure.picture.thinned', rows=down, columns=across)}"
    return Table(
        "picture",
        title,
        [
            number_column(words("column.position"), "row"),
            *(number_column(f"{column}", f"column_{column}") for column in columns),
        ],
        [
            [
                cell(f"{row}", row),
                *(
                    cell(words.decimal(value, 0 if matrix.is_choice else 2), value)
                    for value in (matrix.values[row][column] for column in columns)
                ),
            ]
            for row in rows
        ],
    )


def _step(side: int) -> int:
    return -(-side // LARGEST_SIDE)


def samples_table(samples: Sequence[Sample], words: Words) -> Table:
    """One line a generated text or gap."""
    return Table(
        "samples",
        words("table.samples"),
        [
            text_column(words("column.run"), "run"),
            text_column(words("column.kind"), "kind"),
            text_column(words("column.prompt"), "prompt"),
            text_column(words("column.result"), "result"),
        ],
        [
            [
                cell(sample.run),
                cell(words(f"sample.{sample.kind}"), sample.kind),
                cell(sample.prompt),
                cell(
                    sample.text
                    or ", ".join(f"{word} ({words.percent(p)})" for word, p in sample.words),
                    sample.text or " ".join(word for word, _ in sample.words),
                ),
            ]
            for sample in samples
        ],
    )


def transfer_table(document: StudyDocument, words: Words) -> Table:
    """How many tensors were taken, are new, were left behind, and their names."""
    proof = document.proof
    kinds = {"taken": proof.taken, "new": proof.new, "left": proof.left}
    return Table(
        "transfer",
        words("table.transfer"),
        [
            text_column(words("column.fate"), "fate"),
            number_column(words("column.tensors"), "tensors"),
            text_column(words("column.names"), "names"),
        ],
        [
            [cell(words(f"proof.{kind}"), kind), count_cell(words, len(names)), _listed(names)]
            for kind, names in kinds.items()
        ],
    )


def hashes_table(document: StudyDocument, words: Words) -> Table:
    """The base each training began with; a pretrained arm's is the base itself."""
    proof = document.proof
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    return Table(
        "hashes",
        words("table.hashes"),
        [
            text_column(words("column.arm"), "arm"),
            text_column(words("column.hash"), "hashes"),
            text_column(words("column.is_base"), "is_base"),
        ],
        [
            [
                cell(names.get(arm, arm), arm),
                cell(_short(hashes), " ".join(hashes)),
                answer_cell(words, set(hashes) == {proof.base_hash}),
            ]
            for arm, hashes in proof.initial_hashes.items()
        ],
    )


def moves_table(document: StudyDocument, words: Words) -> Table:
    """How far each part moved, one column an arm."""
    arms = list(dict.fromkeys(arm for move in document.proof.moves for arm in move.moved))
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    none = cell(words("number.none"), None)
    return Table(
        "moves",
        words("table.moves"),
        [
            text_column(words("column.part"), "part"),
            number_column(words("column.tensors"), "tensors"),
            *(number_column(names.get(arm, arm), arm) for arm in arms),
        ],
        [
            [
                cell(words.model_part(move.part), move.part),
                count_cell(words, move.tensors),
                *(
                    percent_cell(words, move.moved[arm]) if arm in move.moved else none
                    for arm in arms
                ),
            ]
            for move in document.proof.moves
        ],
    )


def probes_table(document: StudyDocument, words: Words) -> Table:
    """What a linear classifier makes of untouched bases."""
    return Table(
        "probes",
        words("table.probes"),
        [
            text_column(words("column.probe"), "features"),
            number_column(words("column.accuracy"), "accuracy"),
            number_column(words("column.interval"), "low", "high"),
        ],
        [
            [
                cell(words.model_part(probe.name), probe.name),
                percent_cell(words, probe.accuracy.mean),
                interval_cell(words, probe.accuracy),
            ]
            for probe in document.proof.probes
        ],
    )


def data_table(document: StudyDocument, words: Words) -> Table:
    """The parts of the labelled data."""
    return Table(
        "data",
        words("table.data"),
        [
            text_column(words("column.part"), "part"),
            text_column(words("column.source"), "source"),
            number_column(words("column.texts"), "texts"),
            text_column(words("column.classes"), "by_class"),
            text_column(words("column.hash"), "hash"),
        ],
        [
            [
                cell(words(f"part.{part.name}"), part.name),
                cell(part.source),
                count_cell(words, part.texts),
                cell(
                    ", ".join(f"{k} {words.number(n)}" for k, n in part.by_label.items()),
                    "; ".join(f"{k}: {n}" for k, n in part.by_label.items()),
                ),
                hash_cell(part.digest),
            ]
            for part in document.data.parts
        ],
    )


def facts_table(name: str, title: str, facts: Mapping[str, Raw], words: Words) -> Table:
    """Names and values."""
    return Table(
        name,
        title,
        [text_column(words("column.name"), "name"), text_column(words("column.value"), "value")],
        [[cell(key), cell(f"{value}", value)] for key, value in facts.items()],
    )


def repeat_tables(repeat: Repeat, words: Words) -> list[Table]:
    """Versions and machine; hashes of the inputs."""
    versions: dict[str, Raw] = {**repeat.versions, **repeat.machine}
    return [
        facts_table("versions", words("table.versions"), versions, words),
        facts_table("inputs", words("table.inputs"), dict(repeat.hashes), words),
    ]


def _listed(names: Sequence[str]) -> Cell:
    return cell(", ".join(names) or "–", " ".join(names))


def _short(hashes: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(digest[:SHOWN_HASH] for digest in hashes))
