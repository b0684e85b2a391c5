"""Tables of what a study's results rest on: texts, models, transfer, findings, inputs.

Some serve plain runs too. Knows documents and catalogs, nothing of pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from greffe.doctor.descriptions import describe
from greffe.doctor.finding import Finding, Severity
from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow
from greffe.report.catalog import Catalog, set_spaces
from greffe.report.report_table import WRITTEN_HASH, Cell, Raw, Table, TableBuilder, bounds, cell
from greffe.report.verdict import arm_names
from greffe.study.document import LayerMove, Repeat, StudyDocument

LARGEST_SIDE = 24
"""Most rows and columns of a matrix written as a table."""
ORDER: tuple[Severity, ...] = ("serious", "warning", "note")


def disagreements_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return one row per text and an arm's prediction for it."""
    names = arm_names(catalog, document)
    pairs = [(one, found) for one in document.disagreements for found in one.predictions]
    table = TableBuilder(pairs, catalog)
    table.text("text", lambda pair: pair[0].text)
    table.text("label", lambda pair: pair[0].label)
    table.text("arm", lambda pair: names.get(pair[1].arm, pair[1].arm), lambda pair: pair[1].arm)
    table.text("prediction", lambda pair: pair[1].label)
    table.percent("probability", lambda pair: pair[1].probability)
    return table.build("disagreements")


def parameters_table(
    rows: Mapping[str, Sequence[ParameterRow]], title: str, catalog: Catalog, *, with_run: bool
) -> Table:
    """Return block by block the formula beside the count, of one run or of several."""
    pairs = [(run, row) for run, found in rows.items() for row in found]
    table = TableBuilder(pairs, catalog)
    if with_run:
        table.text("run", lambda pair: pair[0])
    table.text("block", lambda pair: catalog.part(pair[1].block), lambda pair: pair[1].block)
    table.text(
        "formula",
        lambda pair: catalog.formula(pair[1].formula, pair[1].note),
        lambda pair: pair[1].formula,
    )
    table.count("closed", lambda pair: pair[1].closed)
    table.count("counted", lambda pair: pair[1].counted)
    totals = (index for index, (_, row) in enumerate(pairs) if row.is_total)
    return table.build("parameters", title, totals)


def matrix_table(matrix: Matrix, catalog: Catalog) -> Table:
    """Return a matrix written out; a large one is thinned, and the title says so."""
    down, across = _step(len(matrix.values)), _step(len(matrix.values[0]))
    title = catalog.label(matrix.title)
    if max(down, across) > 1:
        title += f". {catalog('figure.picture.thinned', rows=down, columns=across)}"
    table = TableBuilder(range(0, len(matrix.values), down), catalog)
    table.add("row", lambda row: cell(f"{row}", row))

    def add(column: int) -> None:
        def make(row: int) -> str:
            return catalog.decimal(matrix.values[row][column], 0 if matrix.is_choice else 2)

        table.add(
            f"column_{column}",
            lambda row: cell(make(row), matrix.values[row][column]),
            written=f"{column}",
        )

    for column in range(0, len(matrix.values[0]), across):
        add(column)
    return table.build("picture", title)


def _step(side: int) -> int:
    return -(-side // LARGEST_SIDE)


def samples_table(samples: Sequence[LanguageSample], catalog: Catalog) -> Table:
    """Return one row per generated text or filled mask."""

    def result(sample: LanguageSample) -> str:
        guesses = (f"{word} ({catalog.percent(p)})" for word, p in sample.words)
        return sample.text or ", ".join(guesses)

    table = TableBuilder(samples, catalog)
    table.text("run", lambda sample: sample.run)
    table.text("kind", lambda sample: catalog(f"sample.{sample.kind}"), lambda one: one.kind)
    table.text("prompt", lambda sample: sample.prompt)
    table.text("result", result, lambda one: one.text or " ".join(word for word, _ in one.words))
    return table.build("samples")


# --- transfer -------------------------------------------------------------------------------------


def transfer_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return how many tensors were loaded, are new, were dropped, and their names."""
    proof = document.proof
    kinds = {"taken": proof.taken, "new": proof.new, "left": proof.left}
    table = TableBuilder(kinds.items(), catalog)
    table.text("origin", lambda one: catalog(f"proof.{one[0]}"), lambda one: one[0])
    table.count("tensors", lambda one: len(one[1]))
    none = catalog("number.none")
    table.text("names", lambda one: ", ".join(one[1]) or none, lambda one: " ".join(one[1]))
    return table.build("transfer")


def hashes_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return the base that each training began with; a pretrained arm's is the base itself."""
    proof, names = document.proof, arm_names(catalog, document)

    def short(hashes: Sequence[str]) -> str:
        return ", ".join(dict.fromkeys(digest[:WRITTEN_HASH] for digest in hashes))

    table = TableBuilder(proof.initial_hashes.items(), catalog)
    table.text("arm", lambda one: names.get(one[0], one[0]), lambda one: one[0])
    table.text("hash", lambda one: short(one[1]), lambda one: " ".join(one[1]), "hashes")
    table.answer("is_base", lambda one: set(one[1]) == {proof.base_hash})
    return table.build("hashes")


def moves_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return how far each part moved, one column per arm."""
    moves, names = document.proof.moves, arm_names(catalog, document)
    table = TableBuilder(moves, catalog)
    table.text("part", lambda move: catalog.part(move.part), lambda move: move.part)
    table.count("tensors", lambda move: move.tensors)
    for arm in dict.fromkeys(arm for move in moves for arm in move.moved):

        def make(move: LayerMove, arm: str = arm) -> Cell:
            change = move.moved.get(arm)
            written = catalog("number.none") if change is None else catalog.percent(change)
            return cell(written, change)

        table.add(arm, make, written=names.get(arm, arm))
    return table.build("moves")


def probes_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return what a linear classifier reaches on untouched bases."""
    table = TableBuilder(document.proof.probes, catalog)
    table.text("features", lambda one: probe_name(one.name, catalog), lambda one: one.name)
    table.percent("accuracy", lambda one: one.accuracy.mean)
    table.interval(lambda one: bounds(one.accuracy))
    return table.build("probes")


def probe_name(name: str, catalog: Catalog) -> str:
    """Return the name of a probed base: that of its arm, or `random`."""
    key = f"probe.{name}"
    return catalog(key) if catalog.has(key) else name


# --- findings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DescribedFinding:
    """A finding in the reader's language."""

    finding: Finding
    severity: str
    what: str
    advice: str


def described_findings(findings: Sequence[Finding], catalog: Catalog) -> list[DescribedFinding]:
    """Return descriptions of the findings, the serious first."""
    ranked = sorted(findings, key=lambda finding: ORDER.index(finding.severity))
    found = []
    for finding in ranked:
        texts = (set_spaces(text, catalog.language) for text in describe(finding, catalog.language))
        found.append(DescribedFinding(finding, catalog(f"severity.{finding.severity}"), *texts))
    return found


def findings_table(findings: Sequence[Finding], catalog: Catalog) -> Table:
    """Return one row per finding."""
    table = TableBuilder(described_findings(findings, catalog), catalog)
    table.add(
        "severity",
        lambda one: cell(one.severity, one.finding.severity, one.finding.kind, one.finding.where),
        *("severity", "kind", "where"),
        is_number=False,
    )
    table.text("what", lambda one: one.what)
    table.text("advice", lambda one: one.advice)
    table.count("count", lambda one: one.finding.count)
    table.count("total", lambda one: one.finding.total)
    table.text("example", lambda one: one.finding.example)
    return table.build("findings")


# --- inputs ---------------------------------------------------------------------------------------


def data_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return the parts of the labelled data."""
    table = TableBuilder(document.data.parts, catalog)
    table.text("data_part", lambda part: catalog(f"data_part.{part.name}"), lambda one: one.name)
    table.text("source", lambda part: part.source)
    table.count("texts", lambda part: part.texts)
    table.text(
        "by_class",
        lambda part: ", ".join(f"{k} {catalog.number(n)}" for k, n in part.by_label.items()),
        lambda part: "; ".join(f"{k}: {n}" for k, n in part.by_label.items()),
    )
    table.text("hash", lambda part: part.digest[:WRITTEN_HASH], lambda part: part.digest)
    return table.build("data")


def repeat_tables(repeat: Repeat, catalog: Catalog) -> list[Table]:
    """Return versions and machine, and the hashes of the inputs."""
    versions: dict[str, Raw] = {**repeat.versions, **repeat.machine}
    return [
        _facts_table("versions", versions, catalog),
        _facts_table("inputs", repeat.hashes, catalog),
    ]


def _facts_table(name: str, facts: Mapping[str, Raw], catalog: Catalog) -> Table:
    table = TableBuilder(facts.items(), catalog)
    table.text("name", lambda fact: fact[0])
    table.text("value", lambda fact: f"{fact[1]}", lambda fact: fact[1])
    return table.build(name)
