"""Which device and precision are chosen, what is said about it, and what is refused."""

from __future__ import annotations

import pytest
import torch

from greffe.config.recipe_files import load_recipe
from greffe.errors import InputError
from greffe.model.arithmetic import MatrixProduct, matrix_products
from greffe.model.model import build_model
from greffe.training import device
from greffe.training.device import Compute, choose_compute, choose_device, warn_if_slow

torch.set_num_threads(1)

WIDE = [MatrixProduct(512, 256, 768)]
NARROW = [MatrixProduct(512, 64, 192)]


@pytest.fixture
def speed(monkeypatch):
    """Set the measured speed of bf16; return how often it was measured."""
    measured = []

    def set_speed(ratio: float) -> list[int]:
        monkeypatch.setattr(device, "measured_speed", lambda some: measured.append(1) or ratio)
        return measured

    return set_speed


def chosen(precision: str, products=WIDE) -> str:
    return choose_compute("cpu", precision, products, what="pretrain").precision


def test_auto_takes_the_faster_precision_and_says_why(speed, capsys):
    speed(2.5)
    assert chosen("auto") == "bf16"
    assert "pretrain: bf16 on the CPU" in (printed := capsys.readouterr().err)
    assert "2.5 times" in printed
    speed(0.004)
    assert chosen("auto") == "fp32"
    assert "0.004 times" in capsys.readouterr().err


def test_a_gain_within_the_noise_is_no_reason(speed):
    speed(1.1)
    assert chosen("auto") == "fp32"


def test_narrow_models_and_fp32_are_not_measured(speed, capsys):
    measured = speed(3.0)
    assert chosen("auto", NARROW) == "fp32"
    assert chosen("fp32") == "fp32"
    assert measured == []
    assert capsys.readouterr().err == ""


def test_bf16_is_obeyed_with_a_warning_where_it_is_slow(speed, capsys):
    speed(0.005)
    assert chosen("bf16") == "bf16"
    assert "bf16 as asked" in (printed := capsys.readouterr().err)
    assert "0.005 times the speed of fp32" in printed
    speed(2.0)
    assert chosen("bf16") == "bf16"
    assert capsys.readouterr().err == ""


def test_a_resumed_run_is_told_that_bf16_is_slow_here(speed, capsys):
    speed(0.01)
    told = {"begun": "run", "advice": "start again"}
    warn_if_slow(Compute(torch.device("cpu"), "fp32"), WIDE, "pretrain", **told)
    assert capsys.readouterr().err == ""
    warn_if_slow(Compute(torch.device("cpu"), "bf16"), WIDE, "pretrain", **told)
    assert "0.01 times the speed of fp32" in capsys.readouterr().err


def test_the_measurement_is_short_and_plausible():
    products = matrix_products(load_recipe("small").model, 4096, vocab=16_000, predicted=600)
    assert 0.0001 < device.measured_speed(products) < 50


def test_the_same_products_are_measured_once(monkeypatch):
    measured = []
    monkeypatch.setattr(device, "_seconds", lambda product: measured.append(1) or (1.0, 1.0))
    products = [MatrixProduct(33, 200, 100)]
    assert device.measured_speed(products) == device.measured_speed(products) == 1.0
    assert len(measured) == 2  # a few rows, then all


def test_a_hopeless_measurement_ends_after_a_few_rows(monkeypatch):
    rows = []

    def slow(product):
        rows.append(product.rows)
        return 1.0, 100.0

    monkeypatch.setattr(device, "_seconds", slow)
    assert device.measured_speed([MatrixProduct(500, 256, 768)]) == 0.01
    assert rows == [device.FEW_ROWS]


def test_products_count_as_often_as_they_occur(monkeypatch):
    times = {8: (1.0, 1.0), 9: (1.0, 0.25), device.FEW_ROWS: (1.0, 1.0)}
    monkeypatch.setattr(device, "_seconds", lambda product: times[product.rows])
    products = [MatrixProduct(8, 256, 256), MatrixProduct(9, 256, 256, times=4)]
    assert device.measured_speed(products) == (1 + 4) / (1 + 1)


def test_the_products_of_a_recipe():
    spec = load_recipe("small").model
    found = matrix_products(spec, 100, vocab=16_000, predicted=15)
    assert [(p.rows, p.inputs, p.outputs, p.times) for p in found] == [
        (100, 256, 768, 4),
        (100, 256, 256, 4),
        (100, 256, 1024, 4),
        (100, 1024, 256, 4),
        (15, 256, 16_000, 1),
    ]
    assert len(matrix_products(spec, 100)) == 4
    assert matrix_products(spec.model_copy(update={"layers": 0}), 100) == []


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_an_error(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(InputError, match=f"no {name.upper()} device") as error:
        choose_device(name)
    assert "--device cpu" in str(error.value)
    assert choose_device("auto") == choose_device("cpu") == torch.device("cpu")


def test_auto_takes_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    used = []
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert choose_device("auto") == torch.device("cuda", 1)
    assert used == [torch.device("cuda", 1)]


@pytest.mark.parametrize("has_units", [True, False])
def test_a_gpu_computes_in_bf16_if_it_has_units_for_it(monkeypatch, capsys, has_units):
    monkeypatch.setattr(device, "choose_device", lambda name: torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Example GPU")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_units)
    auto = choose_compute("auto", "auto", WIDE, what="pretrain")
    assert auto.precision == ("bf16" if has_units else "fp32")
    assert "cuda:0, Example GPU" in capsys.readouterr().err
    assert choose_compute("auto", "fp32", WIDE, what="pretrain").precision == "fp32"
    capsys.readouterr()
    assert choose_compute("auto", "bf16", WIDE, what="pretrain").precision == "bf16"
    assert ("has no units" in capsys.readouterr().err) is not has_units


def test_a_placed_model_computes_in_its_precision():
    spec = load_recipe("tiny").model
    model = build_model(spec, 50, {}, seed=0)
    ids = torch.arange(6)[None]
    assert Compute(torch.device("cpu"), "bf16").place(model) is model
    assert model.base(ids, causal=True).dtype == torch.bfloat16
    Compute(torch.device("cpu"), "fp32").place(model)
    assert model.base(ids, causal=True).dtype == torch.float32


@pytest.fixture
def gpus(monkeypatch):
    """Pretend to have so many GPUs; return the devices that were made current."""
    current = []

    def have(count: int) -> list[torch.device]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "set_device", current.append)
        return current

    return have


def test_each_process_has_a_gpu_of_its_own(gpus, monkeypatch):
    current = gpus(2)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        assert choose_device("auto") == torch.device("cuda", rank) == current[-1]


def test_processes_do_not_share_a_gpu(gpus, monkeypatch):
    gpus(1)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(InputError, match="more processes than GPUs") as caught:
        choose_device("cuda")
    assert "--nproc-per-node 1" in str(caught.value.hint)
    assert choose_device("cpu").type == "cpu"
