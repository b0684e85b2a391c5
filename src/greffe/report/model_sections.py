"""Sections about models: parameters, attention mask and positions, samples of text.

The pages of a study, of plain runs and of the lab use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow
from greffe.report.blocks import Block, Figure, Partial, Section, figure, section
from greffe.report.catalog import Catalog
from greffe.report.charts.heat import heat_chart
from greffe.report.evidence_tables import matrix_table, parameters_table, samples_table


def parameters_section(
    by_run: Mapping[str, Sequence[ParameterRow]], catalog: Catalog
) -> Section | None:
    """Return every block of every run's model; runs of one shape share a table."""
    shapes: list[tuple[list[str], Sequence[ParameterRow]]] = []
    for run, rows in by_run.items():
        same = next((names for names, known in shapes if known == rows), None)
        if same is not None:
            same.append(run)
        elif rows:
            shapes.append(([run], rows))
    if not shapes:
        return None
    blocks = [
        parameters_table(
            {names[0]: rows},
            catalog("table.parameters_of", name=catalog.listing(names)),
            catalog,
            with_run=False,
        )
        for names, rows in shapes
    ]
    return section("parameters", catalog, blocks)


def pictures_section(pictures: Sequence[tuple[Matrix, str]], catalog: Catalog) -> Section | None:
    """Return drawings of masks and positions, each with the run it belongs to, if that matters."""
    drawn = [
        picture(matrix, number, catalog, run) for number, (matrix, run) in enumerate(pictures, 1)
    ]
    return section("pictures", catalog, drawn) if drawn else None


def picture(matrix: Matrix, number: int, catalog: Catalog, run: str = "") -> Figure:
    """Return the drawing of a matrix."""
    meaning = catalog.label(matrix.meaning)
    key = "choice" if matrix.is_choice else "caption"
    return figure(
        "picture",
        catalog,
        matrix_table(matrix, catalog),
        partial(heat_chart, matrix),
        ident=f"picture-{number}",
        title=f"{catalog.label(matrix.title)} ({run})" if run else catalog.label(matrix.title),
        caption=catalog(
            f"figure.picture.{key}",
            meaning=meaning if matrix.is_choice else meaning[:1].upper() + meaning[1:],
            row=catalog.label(matrix.row_label),
            column=catalog.label(matrix.column_label),
        ),
    )


def samples_section(samples: Sequence[LanguageSample], catalog: Catalog) -> Section | None:
    """Return what the language models generated and filled in."""
    if not samples:
        return None
    by_run: dict[str, list[LanguageSample]] = {}
    for sample in samples:
        by_run.setdefault(sample.run, []).append(sample)
    blocks: list[Block] = [
        Partial(
            "samples.html.j2", {"run": run, "samples": written}, samples_table(written, catalog)
        )
        for run, written in by_run.items()
    ]
    return section("samples", catalog, blocks)
