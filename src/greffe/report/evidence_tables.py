"""Tables of what stands behind a study's figures: texts, models, transfer, findings, inputs.

Some serve plain runs as well. Knows documents and words, nothing of pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from greffe.inference.language_samples import LanguageSample
from greffe.inference.pictures import Matrix
from greffe.model.parameters import ParameterRow
from greffe.report.catalog import Catalog
from greffe.report.report_table import Cell, Raw, Table, cell, number_column, text_column
from greffe.report.table_cells import (
    SHOWN_HASH,
    answer_cell,
    count_cell,
    hash_cell,
    interval_cell,
    percent_cell,
)
from greffe.report.verdict import arm_name
from greffe.study.document import Repeat, StudyDocument

LARGEST_SIDE = 24
"""Of a matrix that is written out as a table."""


def disagreements_table(document: StudyDocument, catalog: Catalog) -> Table:
    """One line a text and an arm's reading of it."""
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    rows = [
        [
            cell(one.text),
            cell(one.targets),
            cell(names.get(reading.arm, reading.arm), reading.arm),
            cell(reading.label),
            percent_cell(catalog, reading.probability),
        ]
        for one in document.disagreements
        for reading in one.readings
    ]
    columns = [
        text_column(catalog("column.text"), "text"),
        text_column(catalog("column.truth"), "targets"),
        text_column(catalog("column.arm"), "arm"),
        text_column(catalog("column.answer"), "answer"),
        number_column(catalog("column.probability"), "probability"),
    ]
    return Table("disagreements", catalog("table.disagreements"), columns, rows)


def parameters_table(rows: Sequence[ParameterRow], name: str, catalog: Catalog) -> Table:
    """Block by block, formula beside count."""
    return Table(
        "parameters",
        catalog("table.parameters", name=name),
        [
            text_column(catalog("column.block"), "block"),
            text_column(catalog("column.formula"), "formula"),
            number_column(catalog("column.closed"), "closed"),
            number_column(catalog("column.counted"), "counted"),
        ],
        [
            [
                cell(catalog.model_part(row.block), row.block),
                cell(catalog.formula(row.formula), row.formula),
                count_cell(catalog, row.closed),
                count_cell(catalog, row.counted),
            ]
            for row in rows
        ],
        frozenset(index for index, row in enumerate(rows) if row.is_total),
    )


def all_parameters_table(
    by_run: Mapping[str, Sequence[ParameterRow]], title: str, catalog: Catalog
) -> Table:
    """The parameters of every run, one below the other."""
    tables = [(run, parameters_table(rows, run, catalog)) for run, rows in by_run.items()]
    columns = parameters_table([], "", catalog).columns
    return Table(
        "parameters",
        title,
        [text_column(catalog("column.run"), "run"), *columns],
        [[cell(run), *row] for run, table in tables for row in table.rows],
    )


def matrix_table(matrix: Matrix, catalog: Catalog) -> Table:
    """A matrix written out; of a large one every so many rows and columns, and it says so."""
    down, across = _step(len(matrix.values)), _step(len(matrix.values[0]))
    rows = range(0, len(matrix.values), down)
    columns = range(0, len(matrix.values[0]), across)
    title = catalog.model_part(matrix.title)
    if max(down, across) > 1:
        title += f". {catalog('figure.picture.thinned', rows=down, columns=across)}"
    return Table(
        "picture",
        title,
        [
            number_column(catalog("column.position"), "row"),
            *(number_column(f"{column}", f"column_{column}") for column in columns),
        ],
        [
            [
                cell(f"{row}", row),
                *(
                    cell(catalog.decimal(value, 0 if matrix.is_choice else 2), value)
                    for value in (matrix.values[row][column] for column in columns)
                ),
            ]
            for row in rows
        ],
    )


def _step(side: int) -> int:
    return -(-side // LARGEST_SIDE)


def samples_table(samples: Sequence[LanguageSample], catalog: Catalog) -> Table:
    """One line a generated text or gap."""
    return Table(
        "samples",
        catalog("table.samples"),
        [
            text_column(catalog("column.run"), "run"),
            text_column(catalog("column.kind"), "kind"),
            text_column(catalog("column.prompt"), "prompt"),
            text_column(catalog("column.result"), "result"),
        ],
        [
            [
                cell(sample.run),
                cell(catalog(f"sample.{sample.kind}"), sample.kind),
                cell(sample.prompt),
                cell(
                    sample.text
                    or ", ".join(f"{word} ({catalog.percent(p)})" for word, p in sample.words),
                    sample.text or " ".join(word for word, _ in sample.words),
                ),
            ]
            for sample in samples
        ],
    )


def transfer_table(document: StudyDocument, catalog: Catalog) -> Table:
    """How many tensors were taken, are new, were left behind, and their names."""
    proof = document.proof
    kinds = {"taken": proof.taken, "new": proof.new, "left": proof.left}
    return Table(
        "transfer",
        catalog("table.transfer"),
        [
            text_column(catalog("column.fate"), "fate"),
            number_column(catalog("column.tensors"), "tensors"),
            text_column(catalog("column.names"), "names"),
        ],
        [
            [cell(catalog(f"proof.{kind}"), kind), count_cell(catalog, len(names)), _listed(names)]
            for kind, names in kinds.items()
        ],
    )


def hashes_table(document: StudyDocument, catalog: Catalog) -> Table:
    """The base each training began with; a pretrained arm's is the base itself."""
    proof = document.proof
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    return Table(
        "hashes",
        catalog("table.hashes"),
        [
            text_column(catalog("column.arm"), "arm"),
            text_column(catalog("column.hash"), "hashes"),
            text_column(catalog("column.is_base"), "is_base"),
        ],
        [
            [
                cell(names.get(arm, arm), arm),
                cell(_short(hashes), " ".join(hashes)),
                answer_cell(catalog, set(hashes) == {proof.base_hash}),
            ]
            for arm, hashes in proof.initial_hashes.items()
        ],
    )


def moves_table(document: StudyDocument, catalog: Catalog) -> Table:
    """How far each part moved, one column an arm."""
    arms = list(dict.fromkeys(arm for move in document.proof.moves for arm in move.moved))
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    none = cell(catalog("number.none"), None)
    return Table(
        "moves",
        catalog("table.moves"),
        [
            text_column(catalog("column.part"), "part"),
            number_column(catalog("column.tensors"), "tensors"),
            *(number_column(names.get(arm, arm), arm) for arm in arms),
        ],
        [
            [
                cell(catalog.model_part(move.part), move.part),
                count_cell(catalog, move.tensors),
                *(
                    percent_cell(catalog, move.moved[arm]) if arm in move.moved else none
                    for arm in arms
                ),
            ]
            for move in document.proof.moves
        ],
    )


def probes_table(document: StudyDocument, catalog: Catalog) -> Table:
    """What a linear classifier makes of untouched bases."""
    return Table(
        "probes",
        catalog("table.probes"),
        [
            text_column(catalog("column.probe"), "features"),
            number_column(catalog("column.accuracy"), "accuracy"),
            number_column(catalog("column.interval"), "low", "high"),
        ],
        [
            [
                cell(catalog.model_part(probe.name), probe.name),
                percent_cell(catalog, probe.accuracy.mean),
                interval_cell(catalog, probe.accuracy),
            ]
            for probe in document.proof.probes
        ],
    )


def data_table(document: StudyDocument, catalog: Catalog) -> Table:
    """The parts of the labelled data."""
    return Table(
        "data",
        catalog("table.data"),
        [
            text_column(catalog("column.part"), "part"),
            text_column(catalog("column.source"), "source"),
            number_column(catalog("column.texts"), "texts"),
            text_column(catalog("column.classes"), "by_class"),
            text_column(catalog("column.hash"), "hash"),
        ],
        [
            [
                cell(catalog(f"part.{part.name}"), part.name),
                cell(part.source),
                count_cell(catalog, part.texts),
                cell(
                    ", ".join(f"{k} {catalog.number(n)}" for k, n in part.by_label.items()),
                    "; ".join(f"{k}: {n}" for k, n in part.by_label.items()),
                ),
                hash_cell(part.digest),
            ]
            for part in document.data.parts
        ],
    )


def facts_table(name: str, title: str, facts: Mapping[str, Raw], catalog: Catalog) -> Table:
    """Names and values."""
    return Table(
        name,
        title,
        [
            text_column(catalog("column.name"), "name"),
            text_column(catalog("column.value"), "value"),
        ],
        [[cell(key), cell(f"{value}", value)] for key, value in facts.items()],
    )


def repeat_tables(repeat: Repeat, catalog: Catalog) -> list[Table]:
    """Versions and machine; hashes of the inputs."""
    versions: dict[str, Raw] = {**repeat.versions, **repeat.machine}
    return [
        facts_table("versions", catalog("table.versions"), versions, catalog),
        facts_table("inputs", catalog("table.inputs"), dict(repeat.hashes), catalog),
    ]


def _listed(names: Sequence[str]) -> Cell:
    return cell(", ".join(names) or "–", " ".join(names))


def _short(hashes: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(digest[:SHOWN_HASH] for digest in hashes))
