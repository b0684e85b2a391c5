"""What a document says about the data."""

from __future__ import annotations

from greffe.config.options import Tables
from greffe.data.tables import Example
from greffe.pipelines.labelled import data_hash
from greffe.study.arms import Cell
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.document import RestartedCell
from greffe.study.facts import data_summary, restarted_cells
from greffe.study.folder import CellResult
from greffe.study.parts import Parts
from greffe.training.collapse import Restarted


def test_each_part_has_its_source_sizes_and_hash() -> None:
    pool = [Example(f"texte {n}", "ab"[n % 2]) for n in range(10)]
    is_split = {"train": False, "valid": True, "test": False}
    parts = Parts(pool[:5], pool[5:7], pool[7:], ["a", "b"], [True, False, False], is_split)
    summary = data_summary(parts, Tables(data="folder/reviews.tsv", test=pool[7:]))
    assert [part.name for part in summary.parts] == ["train", "valid", "test"]
    train, valid, test = summary.parts
    assert train.source == "reviews.tsv" and "split" in valid.source and "Python" in test.source
    assert (train.texts, train.by_label) == (5, {"a": 3, "b": 2})
    assert test.digest == data_hash(pool[7:])
    assert (summary.repeated, summary.scored) == (1, 2)


def test_restarted_trainings_are_listed_by_arm_labels_and_seed() -> None:
    arm = ScratchArm("scratch")
    usual = CellResult(probabilities=[], validation=None, seconds=1.0)
    restarted = usual.model_copy(update={"restarted": Restarted(restarts=1, lr=1e-4)})
    results = {
        Cell(arm, 100, 0, is_full=True): usual,
        Cell(arm, 100, 1, is_full=True): restarted,
    }
    assert restarted_cells(results) == [
        RestartedCell(arm="scratch", labels=100, seed=1, restarts=1, lr=1e-4, collapsed=0)
    ]
