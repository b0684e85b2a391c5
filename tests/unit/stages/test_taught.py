"""Labels of others before one's own: what is taken of them, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greffe.data.tables import Example
from greffe.errors import DataError, MismatchError, RecipeError
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.stages.labelled import data_hash
from greffe.stages.taught import MOST_TO_ONE, Taught, mix, teach_first
from greffe.stages.teaching import learnt_from


def table(**counts: int) -> list[Example]:
    return [Example(f"{label} {n}", label) for label, count in counts.items() for n in range(count)]


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


def test_no_class_of_a_table_prevails() -> None:
    found = Counter(example.label for example in mix([table(good=100, bad=10)], seed=0))
    assert found == {"good": 25, "bad": 10}
    three = Counter(example.label for example in mix([table(a=100, b=10, c=30)], seed=0))
    assert three == {"a": 50, "b": 10, "c": 30}


def test_each_table_is_looked_at_by_itself() -> None:
    praising, complaining = table(good=50, bad=10), table(good=10, bad=50)
    assert len(mix([praising, complaining], seed=0)) == 2 * 35
    assert len(mix([[*praising, *complaining]], seed=0)) == 120


def test_a_table_of_one_class_is_taken_whole() -> None:
    assert mix([table(good=7), table(bad=3)], seed=0) == [*table(good=7), *table(bad=3)]


def test_which_texts_are_taken_follows_from_the_seed() -> None:
    tables = [table(good=200, bad=10)]
    first, again, other = (mix(tables, seed) for seed in (1, 1, 2))
    assert first == again and first != other
    assert first == sorted(first, key=tables[0].index)


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), max_size=3), st.integers(0, 9)
)
def test_what_is_taken_was_there_and_is_enough(counts: list[list[int]], seed: int) -> None:
    tables = [
        table(**{f"c{label}": count for label, count in enumerate(row)})
        for row in counts
        if any(row)
    ]
    taken = Counter(mix(tables, seed))
    assert not taken - Counter(example for one in tables for example in one)
    for one in tables:
        found = Counter(example.label for example in one)
        kept = Counter(example.label for example in mix([one], seed))
        assert kept.keys() == found.keys()
        for label, count in found.items():
            rest = len(one) - count
            room = MOST_TO_ONE * rest / (len(found) - 1) if rest else count
            assert min(count, room) <= kept[label] < room + 1 or kept[label] == count


Teach = Callable[..., Taught]


@pytest.fixture
def teach(fresh_run: Callable[..., RunDirectory], tmp_path: Path) -> Teach:
    """Teach thirty reviews to a fresh base, next to twelve of one's own."""
    parent = fresh_run("parent")

    def run(also: Sequence[list[Example]] = (), **choices: object) -> Taught:
        wanted: dict[str, object] = {"parent": parent, "known": [reviews(12, 1)], **choices}
        return teach_first(also or [reviews(30, 2)], tmp_path / "out", **wanted)  # type: ignore[arg-type]

    return run


def test_what_it_learnt_from_is_recorded(teach: Teach) -> None:
    taught = teach([reviews(30, 2), reviews(20, 3)])
    manifest = taught.run.manifest()
    assert (manifest.kind, manifest.status) == ("classifier", "finished")
    assert taught.hashes == {
        "also 1": data_hash(reviews(30, 2)),
        "also 2": data_hash(reviews(20, 3)),
    }
    assert manifest.lineage.data.items() >= taught.hashes.items()
    assert learnt_from(taught.run, [data_hash(reviews(20, 3))])
    assert taught.run.recipe().objective.kind == "classification"


def test_copies_of_known_texts_are_not_taught(
    teach: Teach, capsys: pytest.CaptureFixture[str]
) -> None:
    known = reviews(12, 1)
    taught = teach([[*known[:5], *reviews(30, 2)]])
    assert "5 texts are one's own too" in capsys.readouterr().err
    assert taught.hashes == {"also 1": data_hash(reviews(30, 2))}


def test_interrupted_it_goes_on(
    teach: Teach, interrupted: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    with interrupted():
        teach()
    stopped = RunDirectory(tmp_path / "out" / "taught").manifest()
    assert stopped.status == "training"
    went_on = teach(resume=True).run.manifest()
    whole = teach(overwrite=True).run.manifest()
    assert went_on.weights == whole.weights is not None


def test_other_tables_do_not_go_on_with_it(teach: Teach) -> None:
    before = teach().run.manifest()
    with pytest.raises(MismatchError, match="other data"):
        teach([reviews(30, 7)], resume=True)
    assert teach(resume=True).run.manifest() == before


def test_a_shape_is_needed(teach: Teach, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="shape"):
        teach(parent=None)
    assert not (tmp_path / "out").exists()


def test_one_text_is_too_few(teach: Teach, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too few"):
        teach([reviews(30, 2)[:1]])
    assert not (tmp_path / "out").exists()
