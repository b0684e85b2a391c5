"""Named random streams: the same everywhere, different for every purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import greffe
from greffe.seeding import derive, rng


def test_equal_scopes_give_equal_streams() -> None:
    first, second = rng(7, "mask", 3), rng(7, "mask", 3)
    assert first.random(8).tolist() == second.random(8).tolist()


def test_a_stream_does_not_depend_on_others() -> None:
    expected = rng(0, "b").random(4).tolist()
    rng(0, "a").random(1000)
    np.random.default_rng(0).random(10)
    assert rng(0, "b").random(4).tolist() == expected


def test_every_part_of_the_scope_counts() -> None:
    scopes: list[tuple[str | int, ...]] = [
        (),
        ("a",),
        ("a", "b"),
        ("b", "a"),
        ("ab",),
        ("a", 1),
        ("a", "1"),
        ("a", 11),
        ("a", 1, 1),
        (1, "a"),
    ]
    numbers = {derive(seed, *scope) for seed in range(3) for scope in scopes}
    assert len(numbers) == 3 * len(scopes)


def test_derived_seeds_fit_torch_and_numpy() -> None:
    numbers = [derive(seed, "x") for seed in range(2000)]
    assert all(0 <= number < 2**63 for number in numbers)
    # Every one of the 63 bits is used.
    assert np.bitwise_or.reduce(np.array(numbers, np.uint64)) == 2**63 - 1


def test_another_process_has_the_same_streams() -> None:
    """Python's hash() would differ from process to process."""
    code = "from greffe.seeding import derive, rng; print(derive(5, 'x', 2), rng(5, 'x').random())"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(Path(greffe.__file__).parents[1]), "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout == f"{derive(5, 'x', 2)} {rng(5, 'x').random()}\n"
