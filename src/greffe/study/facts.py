"""The parts of a study's document about its data and about how to repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from greffe import machine
from greffe.config.options import Tables
from greffe.config.recipe import Recipe
from greffe.pipelines.labelled import Examples, data_hash
from greffe.run import RunDirectory, library_versions, this_command, this_moment
from greffe.study.arms import Cell
from greffe.study.cell_inputs import CellInputs
from greffe.study.document import DataSummary, Part, Repeat, RestartedCell
from greffe.study.folder import CellResult
from greffe.study.parts import Parts


def data_summary(parts: Parts, tables: Tables) -> DataSummary:
    """Return the three parts and where they came from."""
    sources = {"train": tables.data, "valid": tables.valid, "test": tables.test}
    counts = {
        name: Counter(example.label for example in examples)
        for name, examples in parts.by_name.items()
    }
    return DataSummary(
        labels=parts.labels,
        parts=[
            Part(
                name=name,
                source="split off" if parts.is_split[name] else _source(sources[name]),
                texts=len(examples),
                by_label={label: counts[name][label] for label in parts.labels},
                digest=data_hash(examples),
            )
            for name, examples in parts.by_name.items()
        ],
        repeated=sum(parts.is_repeated),
        scored=len(parts.test) - sum(parts.is_repeated),
    )


def _source(source: Examples | None) -> str:
    return Path(source).name if isinstance(source, str | Path) else "examples given in Python"


def restarted_cells(results: Mapping[Cell, CellResult]) -> list[RestartedCell]:
    """Return the trainings that collapsed and were started again."""
    return [
        RestartedCell(
            arm=cell.arm.name,
            labels=cell.labels,
            seed=cell.seed,
            **result.restarted.model_dump(),
        )
        for cell, result in results.items()
        if result.restarted is not None
    ]


def repeat_facts(
    recipe: Recipe, seeds: list[int], inputs: CellInputs, runs: Iterable[RunDirectory]
) -> Repeat:
    """Return the command, machine and recipe, and hashes of all that was read."""
    parts, feature_runs = inputs.parts, inputs.feature_runs.hashes
    return Repeat(
        command=this_command(),
        created=this_moment(),
        versions=library_versions(),
        machine=machine.description(),
        seeds=seeds,
        recipe=recipe.to_toml(),
        hashes={
            **{run.name: inputs.weights_hash(run) for run in runs},
            **{
                f"feature run {RunDirectory(path).name}": digest
                for path, digest in feature_runs.items()
            },
            **inputs.auxiliary.hashes,
            "train": data_hash(parts.train),
            "valid": data_hash(parts.valid),
            "test": inputs.test_hash,
        },
    )
