"""The benchmarks' arithmetic and tables, on made-up samples."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import benchmarks.__main__
import pytest
from benchmarks.__main__ import read_options, run_cases
from benchmarks.cases import CASES, Case
from benchmarks.report import aligned, as_json, contenders_table, figure, goals_table, times
from benchmarks.settings import Settings
from benchmarks.timing import Goal, Piece, Results, Sample, Stopwatch, interleave, time_steps
from benchmarks.worker import Worker, build


def results(less_is_better: bool = False, **values: list[float]) -> Results:
    samples = {name: [Sample(value) for value in rounds] for name, rounds in values.items()}
    return Results("tokens/s", less_is_better, samples)


def test_contenders_take_turns():
    order: list[tuple[str, int]] = []

    def contender(name: str):
        def run(number: int) -> Sample:
            order.append((name, number))
            return Sample(number)

        return run

    seen = []
    found = interleave(
        {"a": contender("a"), "b": contender("b")}, 2, lambda *sample: seen.append(sample[:2])
    )
    assert order == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert seen == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]
    assert [sample.value for sample in found["b"]] == [0, 1]


def test_ratios_are_taken_within_a_round():
    # The machine slows down by half: each round's own ratio is 2, 2 and 4.
    found = results(ours=[100, 50, 40], other=[50, 25, 10])
    assert found.ratio("ours", "other") == 2
    assert found.value("ours") == 50
    assert found.spread("ours") == (40, 100)


def test_a_ratio_above_one_is_better_in_any_unit():
    assert results(ours=[3], other=[1]).ratio("ours", "other") == 3
    assert results(True, ours=[1], other=[3]).ratio("ours", "other") == 3


@pytest.mark.parametrize(
    ("goal", "less", "expected"),
    [
        (Goal("", "ratio", 2.0, "other"), False, True),
        (Goal("", "ratio", 2.1, "other"), False, False),
        (Goal("", "value", 4.0), False, True),
        (Goal("", "value", 4.0), True, False),
        (Goal("", "value", 4.1), True, True),
    ],
)
def test_goals_are_minima_or_maxima(goal, less, expected):
    other = 8 if less else 2
    assert results(less, ours=[4], other=[other]).reaches(goal, "ours") is expected


def test_the_fraction_of_the_peak_uses_the_peak_around_a_piece():
    piece = Piece(seconds=2.0, peak=100.0)
    assert piece.speed(30, 150).value == 15
    assert piece.speed(30, 150).peak_fraction == 0.75
    assert piece.duration(5, 150).value == 10
    assert piece.duration(5, 150).peak_fraction == 0.75
    assert piece.speed(30).peak_fraction is None


def test_the_stopwatch_measures_the_peak_on_both_sides():
    peaks = iter([10.0, 30.0])
    watch = Stopwatch(lambda: next(peaks))
    steps: list[int] = []
    piece = time_steps(watch, lambda: steps.append(1), warmup=2, steps=3)
    assert len(steps) == 5
    assert piece.peak == 20
    assert piece.seconds >= 0


def test_a_piece_that_fails_is_not_timed():
    watch = Stopwatch(lambda: 1.0)
    with pytest.raises(ValueError, match="broken"), watch:
        raise ValueError("broken")
    with pytest.raises(AssertionError, match="nothing was timed"):
        watch.taken()


def test_figures_are_readable():
    assert [figure(value) for value in (0.41234, 13.71, 99.4, 2104.4)] == [
        "0.412",
        "13.7",
        "99.4",
        "2,104",
    ]
    assert [times(value) for value in (2.0444, 150.2)] == ["2.04×", "150×"]
    assert aligned([("name", "n"), ("a", "12")], right=(1,)) == "name   n\n────  ──\na     12"


def test_tables_and_json_say_the_same():
    case = Case(
        name="toy",
        title="Toy",
        unit="tokens/s",
        module="none",
        round_seconds=1,
        goals=(
            Goal("over the other", "ratio", 2.0, "other"),
            Goal("of the peak", "peak", 0.9),
        ),
    )
    samples = {"greffe": [Sample(1200.0, 0.8)], "other": [Sample(400.0)]}
    found = {case: Results(case.unit, case.less_is_better, samples)}
    table = contenders_table(found)
    assert "1,200" in table and "3.00×" in table and "80%" in table
    goals = goals_table(found).splitlines()
    assert goals[2].split()[-2:] == ["3.00×", "reached"]
    assert goals[3].split()[-3:] == ["80%", "not", "reached"]
    tree = json.loads(as_json({"processor": "p"}, {"rounds": 1}, found))
    assert tree["cases"]["toy"]["contenders"]["other"]["ratio_of_ours"] == 3
    assert [goal["reached"] for goal in tree["cases"]["toy"]["goals"]] == [True, False]


def test_cases_run_to_their_number_of_rounds(tmp_path, monkeypatch, capsys):
    case = Case(name="toy", title="Toy", unit="s", module="none", round_seconds=1, most_rounds=3)
    toy = SimpleNamespace(CONTENDERS={"greffe": lambda settings: Sample})
    monkeypatch.setitem(sys.modules, "benchmarks.cases.none", toy)
    monkeypatch.setattr(benchmarks.__main__, "Worker", lambda *of: nullcontext(build(*of)))
    settings = Settings(rounds=5, threads=1, quick=True, scratch=str(tmp_path))
    found = run_cases([case], settings)
    assert [sample.value for sample in found[case].samples["greffe"]] == [0, 1, 2]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "toy: Toy; setting up"
    assert lines[3].startswith("toy: round 3 of 3, greffe: 2.00 s · about 0:0")


def test_a_contender_in_its_own_process(tmp_path):
    settings = Settings(rounds=1, threads=1, quick=True, scratch=str(tmp_path))
    with Worker("help", "greffe", settings) as worker:
        assert 0 < worker(0).value < 60


def test_a_contender_that_cannot_be_built_ends_the_run(tmp_path, capfd):
    settings = Settings(rounds=1, threads=1, quick=True, scratch=str(tmp_path))
    with pytest.raises(SystemExit, match="small corpus ended with exit code 1"):
        Worker("corpus_memory", "small corpus", settings)
    assert "--corpus-small" in capfd.readouterr().err


def test_options():
    assert read_options([]).rounds == 5
    assert read_options(["--only", "lab", "help"]).only == ["lab", "help"]
    for wrong in (["--only", "nothing"], ["--rounds", "0"]):
        with pytest.raises(SystemExit):
            read_options(wrong)


def test_every_goal_names_a_measure_of_its_case():
    for case in CASES:
        for goal in case.goals:
            assert (goal.measure == "ratio") == bool(goal.over), case.name
