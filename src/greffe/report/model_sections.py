"""Sections about models: parameters, the square mask and the positions, samples of text.

Shared by the page of a study and the page of plain runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from greffe.inference.language_samples import LanguageSample
from greffe.inference.pictures import Matrix
from greffe.model.parameters import ParameterRow
from greffe.report.blocks import Block, Figure, Partial, Section, chart_texts, section
from greffe.report.catalog import Catalog
from greffe.report.charts import heat_chart
from greffe.report.evidence_tables import (
    matrix_table,
    parameters_table,
    samples_table,
)


def parameters_section(
    by_run: Mapping[str, Sequence[ParameterRow]], catalog: Catalog
) -> Section | None:
    """Every block of every run's model; runs of one shape share a table."""
    shapes: list[tuple[list[str], Sequence[ParameterRow]]] = []
    for run, rows in by_run.items():
        same = next((names for names, known in shapes if list(known) == list(rows)), None)
        if same is not None:
            same.append(run)
        elif rows:
            shapes.append(([run], rows))
    if not shapes:
        return None
    blocks = [parameters_table(rows, catalog.enumeration(names), catalog) for names, rows in shapes]
    return section("parameters", catalog, blocks)


def pictures_section(pictures: Sequence[Matrix], catalog: Catalog) -> Section | None:
    """Matrices as the model has them."""
    drawn = [matrix for matrix in pictures if matrix.values and matrix.values[0]]
    if not drawn:
        return None
    return section(
        "pictures", catalog, [_picture(matrix, n, catalog) for n, matrix in enumerate(drawn, 1)]
    )


def _picture(matrix: Matrix, number: int, catalog: Catalog) -> Figure:
    spoken = matrix.model_copy(
        update={
            name: catalog.model_part(getattr(matrix, name))
            for name in ("title", "meaning", "row_label", "column_label")
        }
    )
    key, meaning = "choice", spoken.meaning
    if not matrix.is_choice:
        key, meaning = "caption", meaning[:1].upper() + meaning[1:]
    caption = catalog(
        f"figure.picture.{key}", meaning=meaning, row=spoken.row_label, column=spoken.column_label
    )
    ident = f"picture-{number}"
    svg = heat_chart(
        spoken, ident=ident, title=spoken.title, description=caption, catalog=chart_texts(catalog)
    )
    return Figure(ident, spoken.title, caption, svg, matrix_table(matrix, catalog))


def samples_section(samples: Sequence[LanguageSample], catalog: Catalog) -> Section | None:
    """What the language models wrote and filled in."""
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
