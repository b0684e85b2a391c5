"""Weights & Biases: what its library is told, with a stand-in that records it."""

from __future__ import annotations

import re

from tests.unit.pipelines.tracking.tracking_helpers import Resumed, logged, result

from greffe.pipelines.run_folder import flatten


def test_a_resumed_run_is_one_run_with_every_step_once(resumed: Resumed) -> None:
    (run,) = resumed.wandb.runs.values()
    assert list(run.history) == [1, 2, 3, 4, 5, 6]
    found: dict[str, dict[int, float]] = {}
    for step, figures in run.history.items():
        for name, value in figures.items():
            found.setdefault(name, {})[step] = value
    expected = logged(resumed.run)
    for name in ("train/seconds", "train/tokens_per_second"):  # step 5 as it was the first time
        assert found.pop(name).keys() == expected.pop(name).keys()
    assert found == expected
    assert run.summary == result(resumed.run)
    assert run.exit_codes == [1, 0]


def test_the_run_is_opened_with_its_recipe_and_an_id_of_its_own(resumed: Resumed) -> None:
    ((identifier, run),) = resumed.wandb.runs.items()
    assert re.fullmatch("[0-9a-f]{16}", identifier)
    assert (resumed.run.path / "tracking/wandb.id").read_text() == f"{identifier}\n"
    options = run.options
    assert options["project"] == "greffe" and options["name"] == str(resumed.run.path)
    assert options["resume"] == "allow" and options["reinit"] == "create_new"
    assert options["dir"] == str(resumed.run.path / "tracking")
    assert flatten(resumed.run.recipe()).items() <= options["config"].items()
    assert options["config"]["run.path"] == str(resumed.run.path.resolve())
