from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from greffe.config.options import Labelling
from greffe.data.tokenizer import Tokenizer
from greffe.inference.int8_check import FEW_TEXTS, TEXTS, check_labels, report_accuracy
from greffe.inference.placing import PlacedModel
from greffe.kernels.int8_linear import Int8Linear
from greffe.model.model import Model

LABELS = ["bad", "good", "so-so"]


@pytest.fixture
def check(
    make_model: Callable[..., Model], tiny_tokenizer: Tokenizer, tiny_texts: list[str]
) -> Callable[..., None]:
    """Quantize a model and compare its labels."""
    model = make_model("classification", context=64, layers=1)
    texts = [f"{number} {tiny_texts[number % len(tiny_texts)]}" for number in range(20 * TEXTS)]

    def run(count: int = len(texts)) -> None:
        quantized = PlacedModel(model, Labelling(precision="int8"), "p").model_for([])
        check_labels(
            model, quantized, tiny_tokenizer, LABELS, texts[:count], causal=False, long="windows"
        )

    return run


def test_labels_that_stay_are_counted(
    check: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    check()
    assert "of the first 100 labels are those of fp32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "checked"), [(1, None), (30, FEW_TEXTS), (250, 50), (2000, TEXTS)]
)
def test_a_fifth_of_the_texts_is_enough(
    check: Callable[..., None],
    count: int,
    checked: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(count)
    found = capsys.readouterr().err
    assert f"of the first {checked} labels" in found if checked else "labels" not in found


def test_a_broken_quantization_is_noticed(
    check: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Broken(Int8Linear):
        def __init__(self, weight: torch.Tensor, bias: torch.Tensor) -> None:
            super().__init__(weight, bias)
            self.scales = -self.scales

    monkeypatch.setattr("greffe.inference.inference_base.Int8Linear", Broken)
    check()
    assert "int8 changes " in capsys.readouterr().err


@pytest.mark.parametrize(("int8", "fp32"), [(0.810, 0.812), (0.8125, 0.810), (0.5, 0.5)])
def test_the_accuracy_may_change_by_three_tenths_of_a_point(
    int8: float, fp32: float, capsys: pytest.CaptureFixture[str]
) -> None:
    report_accuracy(int8, fp32, 2000)
    found = capsys.readouterr().err
    assert f"on the first 2,000 texts: {int8:.2%} in int8, {fp32:.2%} in fp32" in found


@pytest.mark.parametrize(("int8", "fp32"), [(0.80, 0.81), (0.82, 0.81)])
def test_a_larger_change_is_a_warning(
    int8: float, fp32: float, capsys: pytest.CaptureFixture[str]
) -> None:
    report_accuracy(int8, fp32, 2000)
    found = capsys.readouterr().err
    assert f"from {fp32:.2%} (fp32) to {int8:.2%}: use --precision bf16 or fp32" in found
