"""Tasks side by side: results, errors, dead workers, and signals that stop all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import worker_tasks

from greffe.errors import DivergedError, InterruptedRunError, RunError
from greffe.progress import Progress, quiet
from greffe.training.workers import Task, run_side_by_side

pytestmark = pytest.mark.alone
SECONDS = 60.0


def results(
    function: Callable[..., object],
    context: object,
    items: list[int],
    jobs: int = 2,
    shares: str | None = None,
) -> Iterator[tuple[int, object]]:
    tasks = [Task(item, f"task {item}", shares=shares) for item in items]
    with Progress("work", len(tasks)) as progress:
        yield from run_side_by_side(
            function, context, tasks, jobs=jobs, threads=1, progress=progress
        )


def wait_for(*paths: Path) -> None:
    end = time.monotonic() + SECONDS
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, f"{paths} did not appear"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_every_task_is_computed_once_by_new_processes_with_their_own_threads() -> None:
    before = dict(os.environ)
    found = dict(results(worker_tasks.scaled, 3, list(range(8))))
    assert {item: value[0] for item, value in found.items()} == {n: 3 * n for n in range(8)}  # type: ignore[index]
    processes = {value[1] for value in found.values()}  # type: ignore[index]
    assert len(processes) <= 2 and os.getpid() not in processes
    assert {value[2] for value in found.values()} == {1}  # type: ignore[index]
    assert dict(os.environ) == before


def test_tasks_that_share_something_go_to_one_process() -> None:
    found = dict(results(worker_tasks.scaled, 3, list(range(6)), jobs=3, shares="texts"))
    assert len({value[1] for value in found.values()}) == 1  # type: ignore[index]


def test_a_worker_that_dies_is_replaced_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(results(worker_tasks.dies, tmp_path, [0, 1])) == [(0, ""), (1, "x")]
    assert "task 1: its process was ended by signal 9, SIGKILL" in capsys.readouterr().err


def test_a_worker_that_dies_again_is_an_error(tmp_path: Path) -> None:
    found = []
    with quiet(), pytest.raises(RunError, match="task 2: its process died 2 times") as caught:
        for item, _ in results(worker_tasks.dies, tmp_path, [0, 2]):
            found.append(item)
    assert found == [0]
    assert "SIGKILL" in str(caught.value) and "out of memory" in str(caught.value)
    assert "--jobs 1" in str(caught.value.hint)


def test_an_error_comes_as_it_was_raised() -> None:
    with quiet(), pytest.raises(DivergedError) as caught:
        list(results(worker_tasks.fails, None, [1]))
    error = caught.value
    assert (error.message, error.expected, error.found, error.hint) == (
        *("Weights are not finite.", "numbers", "NaN", "slow"),
    )


def test_an_error_that_cannot_be_sent_is_described() -> None:
    with quiet(), pytest.raises(RuntimeError, match="_Odd"):
        list(results(worker_tasks.fails, None, [2]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all_workers_and_they_save(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    began = [tmp_path / f"began-{n}" for n in (1, 2)]

    def send() -> None:
        wait_for(*began)
        os.kill(os.getpid(), number)
        for path in began:  # a terminal or a service manager sends it to all processes
            os.kill(int(path.read_text()), number)

    sender = threading.Thread(target=send)
    sender.start()
    found = []
    with pytest.raises(InterruptedRunError):
        for item, _ in results(worker_tasks.waits, tmp_path, [0, 1, 2, 3]):
            found.append(item)
    sender.join()
    assert found == [0]
    assert all((tmp_path / f"saved-{n}").exists() for n in (1, 2))
    assert not (tmp_path / "began-3").exists()
    assert not any(is_alive(int(path.read_text())) for path in began)
    assert "nobody may see this" not in capfd.readouterr().err


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from greffe.progress import Progress\n"
        "from greffe.training.workers import Task, run_side_by_side\n"
        "from tests.worker_tasks import waits\n"
        "tasks = [Task(n, str(n)) for n in (1, 2)]\n"
        "with Progress('work', 2) as progress:\n"
        "    list(run_side_by_side(waits, Path(sys.argv[1]), tasks,\n"
        "                          jobs=2, threads=1, progress=progress))\n"
    )  # without a main guard: the workers must not run it
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(root / "src"), str(root)])
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": path}
    )
    began = [tmp_path / f"began-{n}" for n in (1, 2)]
    wait_for(*began)
    parent.kill()
    parent.wait()
    workers = [int(path.read_text()) for path in began]
    end = time.monotonic() + SECONDS
    while any(map(is_alive, workers)):
        assert time.monotonic() < end
        time.sleep(0.02)
