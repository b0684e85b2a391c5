"""Cross-validation of models: folds that do not leak, stored results, time, hopeless models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from greffe.auto.choice import accuracy_by_text
from greffe.auto.cross_validate import FOLDS, LEAST_FOLDS, Clock, CrossValidation, Tried
from greffe.auto.models import Labelled, TriedModel
from greffe.data.tables import Example
from greffe.errors import CorruptError
from greffe.run import RunDirectory
from greffe.storage import write_json

LABELS = ["a", "b"]


class Fake(TriedModel):
    """Right on a fraction of the texts; counts its trainings."""

    def __init__(self, name: str, fraction: float = 1.0, seconds: float = 0.0) -> None:
        self.name, self.fraction, self.seconds = name, fraction, seconds
        self.trainings: list[tuple[set[str], set[str]]] = []

    def held_out_probabilities(
        self, train: list[Example], tested: list[Example], labels: list[str], seed: int
    ) -> np.ndarray:
        self.trainings.append(({one.text for one in train}, {one.text for one in tested}))
        targets = np.array([labels.index(one.label) for one in tested])
        is_right = np.arange(len(tested)) < self.fraction * len(tested)
        found: np.ndarray = np.eye(2)[np.where(is_right, targets, 1 - targets)] * 0.8 + 0.1
        return found

    def write(self, data: Labelled, out: Path, seed: int) -> RunDirectory:
        raise NotImplementedError

    @property
    def is_quick(self) -> bool:  # type: ignore[override]
        return self.estimated_seconds([]) < 1

    def estimated_seconds(self, texts: Sequence[str]) -> float:
        return self.seconds


def labelled(count: int) -> Labelled:
    words = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]
    texts = (" ".join(words[int(digit)] for digit in f"{n:03}") for n in range(count))
    return Labelled([Example(text, LABELS[n % 2]) for n, text in enumerate(texts)], LABELS)


Make = Callable[..., CrossValidation]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(data: Labelled | None = None, *, budget: float = 1e6) -> CrossValidation:
        return CrossValidation(data or labelled(100), tmp_path / "folds", Clock(budget), seed=0)

    return build


def tried(found: Tried | float) -> Tried:
    assert isinstance(found, Tried), found
    return found


def test_near_duplicates_stay_in_one_fold(make: Make) -> None:
    long = "Ce livre raconte la longue histoire d’une famille qui vit au bord de la mer du Nord"
    copies = [Example(f"{long} {end}", label) for end in "xyz" for label in LABELS]
    validation = make(Labelled([*labelled(60).examples, *copies], LABELS))
    assert validation.repeats == 3
    assert all(len(set(folds[-6:])) == 1 for folds in validation.fold_of)
    model = Fake("fake")
    validation.try_model(model)
    together = {example.text for example in copies}
    assert all(together <= train or together <= test for train, test in model.trainings)


def test_every_text_is_tested_once_in_each_repeat(make: Make) -> None:
    validation, model = make(), Fake("fake", 0.5)
    found = tried(validation.try_model(model))
    assert found.predictions.is_known.all()
    assert found.folds == len(model.trainings) == 3 * FOLDS
    assert all(not train & test for train, test in model.trainings)
    for repeat in range(3):
        tested = [test for _, test in model.trainings[repeat * FOLDS : (repeat + 1) * FOLDS]]
        assert sum(map(len, tested)) == len(set().union(*tested)) == 100
    assert (validation.fold_of[0] != validation.fold_of[1]).any()


def test_slow_models_and_many_texts_are_not_repeated(make: Make) -> None:
    slow = Fake("slow", seconds=5.0)
    found = tried(make().try_model(slow))
    assert len(slow.trainings) == FOLDS
    assert found.predictions.is_known[0].all() and not found.predictions.is_known[1:].any()
    assert make(labelled(400)).repeats == 1


def test_a_text_that_is_alone_in_its_class_is_never_tested(make: Make) -> None:
    data = Labelled([*labelled(40).examples, Example("tout autre chose", "c")], [*LABELS, "c"])
    parts = list(make(data).parts(1))
    assert len(parts) == FOLDS
    assert all(40 in train and 40 not in test for _, _, train, test in parts)


def test_stored_folds_are_read_back(make: Make) -> None:
    first = tried(make().try_model(Fake("fake", 0.7)))
    again = Fake("fake", 0.2)
    found = tried(make().try_model(again))
    assert again.trainings == []
    np.testing.assert_array_equal(found.predictions.probabilities, first.predictions.probabilities)
    assert found.seconds == pytest.approx(first.seconds)
    other = Fake("other")
    make().try_model(other)
    assert len(other.trainings) == 3 * FOLDS


def test_stored_folds_need_no_time(make: Make) -> None:
    make().try_model(Fake("slow", seconds=5.0))
    assert tried(make(budget=0.0).try_model(Fake("slow", seconds=5.0))).folds == FOLDS


def test_only_the_missing_folds_are_computed(make: Make, tmp_path: Path) -> None:
    make().try_model(Fake("fake"))
    (tmp_path / "folds" / "fake-1-3.json").unlink()
    again = Fake("fake")
    assert tried(make().try_model(again)).predictions.is_known.all()
    assert len(again.trainings) == 1


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"seconds": 1.0},
        {"seconds": "long", "probabilities": [[0.5, 0.5]] * 20},
        {"seconds": 1.0, "probabilities": [[0.5, 0.5]] * 19},
        {"seconds": 1.0, "probabilities": [[0.5, 0.5]] * 19 + [[0.5]]},
        {"seconds": 1.0, "probabilities": [[0.5, None]] * 20},
    ],
)
def test_a_damaged_fold_is_an_error(make: Make, tmp_path: Path, content: object) -> None:
    validation = make()
    (tmp_path / "folds").mkdir()
    write_json(tmp_path / "folds" / "fake-0-0.json", content)
    with pytest.raises(CorruptError, match=r"fake-0-0\.json is damaged") as caught:
        validation.try_model(Fake("fake"))
    assert caught.value.expected == "probabilities of 20 texts and 2 classes"


def test_a_fold_that_is_no_json_is_an_error(make: Make, tmp_path: Path) -> None:
    (tmp_path / "folds").mkdir()
    (tmp_path / "folds" / "fake-0-0.json").write_text('{"seconds": 1.0, "proba')
    with pytest.raises(CorruptError, match="damaged"):
        make().try_model(Fake("fake"))


def test_a_model_without_time_is_refused_with_the_time_it_needs(make: Make) -> None:
    model = Fake("slow", seconds=50.0)
    # Two folds and the final training.
    assert make(budget=120.0).try_model(model) == 150.0
    assert model.trainings == []
    assert tried(make(budget=160.0).try_model(model)).folds == FOLDS


def test_time_that_earlier_processes_spent_counts() -> None:
    clock = Clock(100.0, spent_before=70.0)
    assert 70.0 <= clock.spent < 80.0
    assert clock.left == pytest.approx(30.0, abs=1.0)


def test_a_hopeless_model_is_stopped_after_two_folds(make: Make) -> None:
    validation = make()
    best = tried(validation.try_model(Fake("best", 1.0)))
    bad = Fake("bad", 0.1, seconds=5.0)
    found = tried(validation.try_model(bad, best))
    assert found.stopped_after == found.folds == len(bad.trainings) == LEAST_FOLDS == 2
    known = found.predictions.is_known
    assert known.sum() == 40
    assert np.isnan(accuracy_by_text(found.predictions.probabilities, validation.targets)).sum() > 0


def test_an_equal_model_is_not_stopped(make: Make) -> None:
    validation = make()
    best = tried(validation.try_model(Fake("best", 0.8)))
    found = tried(validation.try_model(Fake("same", 0.8), best))
    assert found.stopped_after is None and found.predictions.is_known.all()
