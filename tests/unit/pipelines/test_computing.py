"""A run keeps the precision that it began with."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from greffe.config.sections import TrainSpec
from greffe.errors import MismatchError
from greffe.model.arithmetic import MatrixProduct
from greffe.pipelines import computing
from greffe.pipelines.computing import compute_of
from greffe.run import RunDirectory
from greffe.training import device
from greffe.training.distributed import World

PRODUCTS = [MatrixProduct(512, 256, 768)]


@dataclass
class Lineage:
    precision: str
    device: str = "cpu"


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Return a function that makes a run which began with this lineage."""

    def begin(lineage: Lineage) -> RunDirectory:
        (tmp_path / "run.json").write_text("{}")
        run = RunDirectory(tmp_path)
        manifest = type("Manifest", (), {"lineage": lineage})()
        monkeypatch.setattr(run, "manifest", lambda: manifest)
        return run

    monkeypatch.setattr(device, "measured_speed", lambda products: 3.0)
    return begin


def spec(**choices: str) -> TrainSpec:
    return TrainSpec(device="cpu", **choices)


def test_a_new_run_is_measured_and_all_ranks_do_as_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "measured_speed", lambda products: 3.0)
    run = RunDirectory(tmp_path)
    assert compute_of(run, spec(), PRODUCTS, World(), "pretrain").precision == "bf16"
    world = World()
    monkeypatch.setattr(World, "broadcast", lambda self, value: 0.0)
    assert compute_of(run, spec(), PRODUCTS, world, "pretrain").precision == "fp32"


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_auto_keeps_the_precision_of_a_run(begun, precision):
    run = begun(Lineage(precision))
    assert compute_of(run, spec(), PRODUCTS, World(), "pretrain").precision == precision
    same = spec(precision=precision)
    assert compute_of(run, same, PRODUCTS, World(), "pretrain").precision == precision


def test_another_precision_is_refused(begun):
    run = begun(Lineage("bf16"))
    with pytest.raises(MismatchError, match="cannot be resumed in fp32") as error:
        compute_of(run, spec(precision="fp32"), PRODUCTS, World(), "pretrain")
    assert "--from" in str(error.value)


def test_a_machine_without_bf16_keeps_it_and_warns(begun, monkeypatch, capsys):
    monkeypatch.setattr(device, "measured_speed", lambda products: 0.005)
    run = begun(Lineage("bf16"))
    assert compute_of(run, spec(), PRODUCTS, World(), "pretrain").precision == "bf16"
    assert "0.005 times the speed of fp32" in capsys.readouterr().err


def test_another_device_is_said(begun, capsys):
    run = begun(Lineage("fp32", device="cuda"))
    chosen = compute_of(run, spec(), PRODUCTS, World(), "pretrain")
    assert chosen.device == torch.device("cpu")
    assert "started on cuda, now it computes on cpu" in capsys.readouterr().err
    assert computing.choose_device("cpu") == torch.device("cpu")
