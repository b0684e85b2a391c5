"""Two processes under torchrun end with the weights of one process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import greffe
from greffe.progress import quiet
from greffe.samples.toy import toy_reviews

CHOICES = ["train.threads=1", "train.evaluate_every=4steps"]
HEAD = ["objective.dropout=0", "objective.start=probe", "objective.pooler=mean+embedding"]
"""No dropout: what is dropped is drawn by each rank for its own rows."""


@pytest.mark.alone
def test_pretraining_on_two_ranks(world, tmp_path):
    with quiet():
        alone = greffe.pretrain(
            world.corpus,
            tmp_path / "one",
            recipe="tiny",
            objective="hybrid",
            budget="8steps",
            changes=CHOICES,
        )
    errors = on_two_ranks(
        *("pretrain", world.corpus, "--recipe", "tiny", "--objective", "hybrid"),
        *("--budget", "8steps", "--out", tmp_path / "two"),
    )
    assert_same(alone, greffe.load(tmp_path / "two"))
    assert errors.count("run written to") == 1


@pytest.mark.alone
def test_a_soup_on_two_ranks(world, tmp_path):
    with quiet():
        alone = greffe.finetune(
            world.base,
            data=world.train,
            valid=world.valid,
            out=tmp_path / "one",
            budget="4steps",
            soup=2,
            changes=[*CHOICES, *HEAD],
        )
    errors = on_two_ranks(
        *("finetune", "--from", world.base, "--data", world.train, "--valid", world.valid),
        *("--budget", "4steps", "--soup", "2", "--out", tmp_path / "two"),
        *(word for change in HEAD for word in ("--set", change)),
    )
    assert_same(alone, greffe.load(tmp_path / "two"))
    assert not (tmp_path / "two" / "soup").exists()
    assert errors.count("average of 2") == 1


@pytest.mark.alone
def test_auxiliary_data_on_two_ranks(world, tmp_path):
    others, before = tmp_path / "others.tsv", tmp_path / "before.tsv"
    for path, seed in ((others, 5), (before, 6)):
        rows = (f"{label}\t{text}\n" for label, text in toy_reviews(40, seed=seed))
        path.write_text("".join(rows) + world.train.read_text("utf-8"), "utf-8")
    with quiet():
        alone, _ = (
            greffe.finetune(
                world.base,
                data=world.train,
                valid=world.valid,
                aux_data=[table],
                out=tmp_path / out,
                budget="4steps",
                changes=[*CHOICES, *HEAD],
            )
            for table, out in ((others, "one"), (before, "two"))
        )
    errors = on_two_ranks(  # over the run that was trained on another table
        *("finetune", "--from", world.base, "--data", world.train, "--valid", world.valid),
        *("--aux-data", others, "--out", tmp_path / "two", "--overwrite", "--budget", "4steps"),
        *(word for change in HEAD for word in ("--set", change)),
    )
    assert errors.count("24 texts are in your data too") == 1
    assert_same(alone, greffe.load(tmp_path / "two"))


@pytest.mark.alone
def test_a_divergence_ends_both_ranks_with_one_error(world, tmp_path):
    errors = on_two_ranks(
        *("finetune", "--from", world.base, "--data", world.train, "--out", tmp_path / "two"),
        *("--budget", "8steps", "--set", "train.lr=1e20", "--set", "train.warmup=0"),
        code=1,  # of torchrun, whatever the ranks' own code is
    )
    assert errors.count("error: ") == 1 and "not finite" in errors
    assert "exitcode  : 4" in errors
    assert not (tmp_path / "two" / "weights.safetensors").exists()


THREADS_AT_THE_END = """
import atexit, pathlib, sys
import greffe

def print_threads():
    names = [path.read_text().strip() for path in pathlib.Path("/proc/self/task").glob("*/comm")]
    print("threads at the end:", *names, file=sys.stderr)

atexit.register(print_threads)  # called after what greffe registers later
corpus, out = sys.argv[1:]
changes = ["train.threads=1"]
greffe.pretrain(corpus, out, recipe="tiny", objective="hybrid", budget="2steps", changes=changes)
"""


@pytest.mark.alone
def test_no_thread_of_the_process_group_outlives_it(world, tmp_path):
    # Such a thread aborts the interpreter if it lets go of a tensor while that ends.
    script = tmp_path / "script.py"
    script.write_text(THREADS_AT_THE_END, "utf-8")
    errors = launched(script, world.corpus, tmp_path / "run")
    assert errors.count("threads at the end: ") == 2
    assert "gloo" not in errors


def on_two_ranks(*words: object, code: int = 0) -> str:
    """What a command writes to stderr that two processes run together."""
    changes = (word for change in CHOICES for word in ("--set", change))
    return launched("-m", "greffe", *words, *changes, code=code)


def launched(*words: object, code: int = 0) -> str:
    """What two processes of a script or module write to stderr."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--standalone", *map(str, words)),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def assert_same(alone: greffe.Run, both: greffe.Run) -> None:
    second = both.model.state_dict()
    for name, tensor in alone.model.state_dict().items():
        # Adam divides by small numbers: rounding of sums in another order grows to this.
        torch.testing.assert_close(second[name], tensor, rtol=1e-3, atol=2e-4)
    first, result = alone.manifest().result, both.manifest().result
    assert first.keys() == result.keys()
    for name in first.keys() - {"seconds", "best_step"}:  # each rank validated a part
        assert result[name] == pytest.approx(first[name], rel=2e-3), name
    assert result["best_step"] == first["best_step"]
