"""The verb doctor: what it prints, and its exit codes."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from greffe.cli.study_commands import doctor
from greffe.seeding import rng


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(doctor)

    def invoke(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def tables(tmp_path):
    draw = rng(0, "tables")
    for name in ("train", "test"):
        rows = []
        for _ in range(60):
            words = " ".join(f"mot{word}" for word in draw.integers(0, 5000, 15))
            rows.append(f"{draw.integers(2)}\t{words}\n")
        (tmp_path / f"{name}.tsv").write_text("".join(rows), "utf-8")
    return tmp_path


def leak(tables):
    train = (tables / "train.tsv").read_text("utf-8")
    with (tables / "test.tsv").open("a", encoding="utf-8") as file:
        file.write(train.splitlines()[0] + "\n")


def test_clean_data(run, tables):
    done = run("--data", tables / "train.tsv", "--test", tables / "test.tsv", "--strict")
    assert done.exit_code == 0
    assert done.stdout.startswith("No problems found. Checked: copies across parts")
    assert "corpus" not in done.stdout


def test_findings_are_listed_by_severity_with_example_and_advice(run, tables):
    leak(tables)
    (tables / "corpus.txt").write_text("rien de connu ici\n", "utf-8")
    with (tables / "train.tsv").open("a", encoding="utf-8") as file:
        file.write("1\tNul\n")
    done = run(
        "--data", tables / "train.tsv", "--test", tables / "test.tsv",
        "--corpus", tables / "corpus.txt",
    )  # fmt: skip
    assert done.exit_code == 0, "only --strict fails"
    lines = done.stdout.splitlines()
    assert lines[0] == "SERIOUS"
    assert lines[1].startswith("  Texts of the test part that also occur in the training part")
    assert lines[2].startswith("    example: mot")
    assert lines[3].startswith("    next:    Remove them")
    assert lines[4] == "NOTE"
    assert lines[6] == "    example: Nul"
    assert lines[-1].startswith("Checked: ")
    assert "overlap with the corpus" in lines[-1]


def test_strict_fails_on_what_is_serious(run, tables):
    leak(tables)
    done = run("--data", tables / "train.tsv", "--test", tables / "test.tsv", "--strict")
    assert done.exit_code == 1
    assert "SERIOUS" in done.stdout


def test_json(run, tables):
    leak(tables)
    done = run("--data", tables / "train.tsv", "--test", tables / "test.tsv", "--json")
    result = json.loads(done.stdout)
    (found,) = result["findings"]
    assert (found["kind"], found["count"], found["total"]) == ("leak", 1, 61)
    assert found["what"].startswith("Texts of")
    assert found["advice"]
    assert "contradictory labels" in result["checked"]
