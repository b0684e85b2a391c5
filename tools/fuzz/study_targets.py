"""Studies: their manifest, their cells and their document."""

from __future__ import annotations

from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json
from tools.fuzz.world import STUDY_CHANGES

REPORT = ("report study --out out", "report study --out out --language fr")
RESUME = (
    "compare base --data train.tsv --valid valid.tsv --test test.tsv --out unfinished_study "
    "--seeds 2 --budget 1steps --json " + " ".join(f"--set {change}" for change in STUDY_CHANGES)
)
RESUMED = ("unfinished_study", "base", "train.tsv", "valid.tsv", "test.tsv")

TARGETS = (
    Target(
        name="study-document",
        examples=file_at("study/report.json"),
        change=change_json,
        place=write_to("study/report.json"),
        actions=commands(*REPORT),
        parts=("study/study.json",),
        weight=3,
    ),
    Target(
        name="study-manifest",
        examples=file_at("study/study.json"),
        change=change_json,
        place=write_to("study/study.json"),
        actions=commands(*REPORT),
        parts=("study/report.json",),
        weight=0.3,
    ),
    Target(
        name="study-state",
        examples=file_at("unfinished_study/study.json"),
        change=change_json,
        place=write_to("unfinished_study/study.json"),
        actions=commands(RESUME, "report unfinished_study --out out"),
        parts=RESUMED,
        written=("unfinished_study", "out"),
        weight=0.1,
    ),
    *(
        Target(
            name=f"cell-{cell.split('-')[0]}",
            examples=file_at(f"unfinished_study/cells/{cell}.json"),
            change=change_json,
            place=write_to(f"unfinished_study/cells/{cell}.json"),
            actions=commands(RESUME),
            parts=RESUMED,
            written=("unfinished_study",),
            weight=0.1,
        )
        for cell in ("pretrained-all-1", "tfidf-all-1")
    ),
)
