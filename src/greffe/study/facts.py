"""What a study's document says of its data and of how to repeat it. Knows no results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from greffe import machine
from greffe.config.recipe import Recipe
from greffe.data.tables import Example
from greffe.doctor.finding import PartName
from greffe.pipelines.labelled import Examples, data_hash
from greffe.run import RunDirectory, library_versions, this_command, this_moment
from greffe.study.document import DataSummary, Part, Repeat
from greffe.study.parts import Parts, by_label


def data_summary(parts: Parts, sources: Mapping[str, Examples | None]) -> DataSummary:
    """The three parts and where they came from."""
    named: dict[PartName, list[Example]] = {
        "train": parts.train,
        "valid": parts.valid,
        "test": parts.test,
    }
    return DataSummary(
        labels=parts.labels,
        parts=[
            Part(
                name=name,
                source="split off" if parts.is_split[name] else _source(sources[name]),
                texts=len(examples),
                by_label=by_label(examples, parts.labels),
                digest=data_hash(examples),
            )
            for name, examples in named.items()
        ],
        repeated=sum(parts.is_repeated),
        scored=len(parts.test) - sum(parts.is_repeated),
    )


def _source(source: Examples | None) -> str:
    return Path(source).name if isinstance(source, str | Path) else "examples given in Python"


def repeat_facts(
    recipe: Recipe,
    seeds: list[int],
    parts: Parts,
    bases: Mapping[Path, str],
    feature_runs: Mapping[Path, str],
    aux_data: Mapping[str, str],
) -> Repeat:
    """Command, machine, recipe, and hashes of all that was read."""
    return Repeat(
        command=this_command(),
        created=this_moment(),
        versions=library_versions(),
        machine=machine.description(),
        seeds=seeds,
        recipe=recipe.to_toml(),
        hashes={
            **{RunDirectory(path).name: digest for path, digest in bases.items()},
            **{
                f"teacher {RunDirectory(path).name}": digest
                for path, digest in feature_runs.items()
            },
            **aux_data,
            "train": data_hash(parts.train),
            "valid": data_hash(parts.valid),
            "test": data_hash(parts.test),
        },
    )
