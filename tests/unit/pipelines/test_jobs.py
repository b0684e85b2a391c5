"""How many trainings run side by side: as asked, or one per core where that is faster."""

from __future__ import annotations

import multiprocessing

import pytest

from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example
from greffe.errors import OutOfMemoryError, RecipeError
from greffe.pipelines import jobs as jobs_module
from greffe.pipelines.finetune_recipe import Start, finetune_recipe
from greffe.pipelines.jobs import SideBySide, choose_jobs
from greffe.training.distributed import World

TEXTS = [Example("un mot de plus " * 40, "ab"[n % 2]) for n in range(200)]
GIGABYTE = 10**9


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores and sixteen gigabytes."""
    monkeypatch.setattr(jobs_module, "cores", lambda: 4)
    monkeypatch.setattr(jobs_module, "available_memory", lambda: 16 * GIGABYTE)


def recipe(*changes: str) -> Recipe:
    changed = load_recipe("greffe-fr").with_changes(["finetune.precision=fp32", *changes])
    return finetune_recipe(Start(), Training(recipe=changed))


def jobs(given: int | None = None, trainings: int = 12, *changes: str, texts: int = 200) -> int:
    return choose_jobs(given, trainings, recipe(*changes), TEXTS[:texts], classes=2)


def test_small_models_use_all_cores() -> None:
    assert jobs() == 4


@pytest.mark.parametrize(
    "changes",
    [
        ("model.width=1024",),
        ("finetune.budget=5m",),  # in the same time, each would learn less
    ],
)
def test_others_are_trained_one_by_one(changes: tuple[str, ...]) -> None:
    assert jobs(None, 12, *changes) == 1


def test_a_study_of_seconds_does_not_start_processes() -> None:
    assert jobs(None, 12, "finetune.budget=2steps", texts=10) == 1
    assert jobs(2, 12, "finetune.budget=2steps", texts=10) == 2


def test_never_more_than_there_are_trainings() -> None:
    assert jobs(None, 3) == 3
    assert jobs(100, 3) == 3
    assert jobs(5, 1) == jobs(None, 1) == jobs(5, 0) == 1


def test_memory_limits_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "available_memory", lambda: 3 * GIGABYTE)
    assert jobs() == 2
    assert jobs(3) == 3
    with pytest.raises(OutOfMemoryError, match="12 trainings side by side need") as caught:
        jobs(20)
    assert caught.value.hint == "--jobs 4"
    monkeypatch.setattr(jobs_module, "available_memory", lambda: GIGABYTE // 2)
    assert jobs() == 1
    monkeypatch.setattr(jobs_module, "available_memory", lambda: None)
    assert jobs() == 1


@pytest.mark.parametrize("given", [0, -1, 10_000, True, 1.5])
def test_a_number_of_jobs_that_cannot_be(given: int) -> None:
    with pytest.raises(RecipeError, match="Invalid number of jobs"):
        jobs(given)


def test_processes_of_torchrun_train_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "join", lambda: World(size=2))
    assert jobs() == jobs(1) == 1
    with pytest.raises(RecipeError, match="torchrun"):
        jobs(2)


def test_a_process_that_may_start_no_others_trains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    assert jobs() == jobs(2) == 1


def test_how_it_is_described() -> None:
    assert str(SideBySide(2, 1)) == "2 side by side, 1 thread each"
    assert str(SideBySide(3, 4)) == "3 side by side, 4 threads each"
