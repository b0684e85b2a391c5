"""Device and precision of a study: decided once, recorded, and kept when it is resumed."""

from __future__ import annotations

import pytest
import torch

from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.pipelines.finetune_recipe import Start, finetune_recipe
from greffe.study.cell_compute import decide_compute, with_compute
from greffe.study.folder import StudyManifest
from greffe.training import device
from greffe.training.device import Compute

CPU = torch.device("cpu")


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What bf16 is measured at, as many times the speed of fp32."""
    values = [3.0]
    monkeypatch.setattr(device, "measured_speed", lambda _: values[0])
    return values


def recipe(*changes: str) -> Recipe:
    return finetune_recipe(Start(), Training(recipe=load_recipe("greffe-fr"), changes=changes))


def study(precision: str) -> StudyManifest:
    return StudyManifest.model_validate(
        {"status": "running", "cells": [], "settings": {}, "device": "cpu", "precision": precision}
    )


def test_a_new_study_takes_the_faster_precision(speed: list[float]) -> None:
    assert decide_compute(recipe(), None) == Compute(CPU, "bf16")
    speed[0] = 0.5
    assert decide_compute(recipe(), None) == Compute(CPU, "fp32")


def test_a_resumed_study_keeps_its_precision(
    speed: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    assert decide_compute(recipe(), study("fp32")).precision == "fp32"
    assert decide_compute(recipe(), study("bf16")).precision == "bf16"
    assert capsys.readouterr().err == ""
    speed[0] = 0.1
    assert decide_compute(recipe(), study("bf16")).precision == "bf16"
    assert "in which the study was started" in capsys.readouterr().err


def test_what_is_asked_for_comes_first(speed: list[float]) -> None:
    assert decide_compute(recipe("train.precision=fp32"), study("bf16")).precision == "fp32"
    assert decide_compute(recipe("train.precision=bf16"), None).precision == "bf16"


def test_a_study_of_an_older_version_has_neither(speed: list[float]) -> None:
    older = StudyManifest(status="running", cells=[], settings={})
    assert decide_compute(recipe(), older).precision == "bf16"


def test_cells_get_what_was_decided_whatever_the_user_wrote() -> None:
    training = Training(recipe="greffe-fr", changes=["train.precision=auto"])
    spec = finetune_recipe(Start(), with_compute(training, Compute(CPU, "bf16"))).train
    assert (spec.device, spec.precision) == ("cpu", "bf16")
