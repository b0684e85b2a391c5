from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch

from greffe.config.options import Computing, Labelling
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference import placing
from greffe.inference.inference_base import InferenceBase
from greffe.inference.placing import MUCH, PlacedModel, generator_model
from greffe.inference.predict import predict
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model
from greffe.training import device

LITTLE, PLENTY = ["Un texte."], ["a" * MUCH]


@pytest.fixture
def model(make_model: Callable[..., Model]) -> Model:
    return make_model("classification", width=128, feed_forward=128).eval()


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the next measurements find; without any, measuring is an error."""
    found: list[float] = []
    monkeypatch.setattr(device, "measured_speed", lambda products: found.pop(0))
    return found


@pytest.mark.parametrize("computing", [Computing(), Labelling()])
def test_a_single_text_is_read_in_fp32_and_nothing_is_measured(
    model: Model, speed: list[float], computing: Computing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert PlacedModel(model, computing, "prediction").model_for(LITTLE) is model
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("ratio", "precision"), [(3.0, "bf16"), (0.01, "fp32")])
def test_for_much_text_the_faster_is_chosen_once(
    model: Model,
    speed: list[float],
    ratio: float,
    precision: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    speed.append(ratio)
    placed = PlacedModel(model, Computing(), "prediction")
    assert placed.model_for(LITTLE) is model
    chosen = placed.model_for(PLENTY)
    assert isinstance(chosen.base, InferenceBase) == (precision == "bf16")
    assert placed.model_for(LITTLE) is chosen, "one run, one precision"
    assert f"prediction: {precision} on the CPU" in capsys.readouterr().err


def test_what_is_asked_for_is_done(model: Model, speed: list[float]) -> None:
    assert PlacedModel(model, Computing(precision="fp32"), "p").model_for(PLENTY) is model
    half = PlacedModel(model, Computing(precision="bf16"), "p").model_for(LITTLE).base
    assert isinstance(half, InferenceBase) and half.dtype == torch.bfloat16
    quantized = PlacedModel(model, Labelling(precision="int8"), "p")
    for texts in (LITTLE, PLENTY):
        assert isinstance(quantized.model_for(texts).base, InferenceBase)
    assert type(model.base) is not InferenceBase, "the plain model is left as it is"


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_head_that_reads_the_embedding_reads_it_in_any_precision(
    make_model: Callable[..., Model], precision: Literal["bf16", "int8"]
) -> None:
    head = ClassificationHead(classes=3, pooler="mean+embedding")
    plain = make_model(classification=head)
    placed = PlacedModel(plain, Labelling(precision=precision), "p").model_for(LITTLE)
    ids, lengths = torch.tensor([[3, 4, 5, 1], [6, 7, 8, 9]]), torch.tensor([3, 4])
    with torch.inference_mode():
        exact, near = (
            model.eval()(ids, "classification", causal=False, lengths=lengths)
            for model in (plain, placed)
        )
    assert 0 < (exact - near).abs().max() < 0.05 * exact.abs().max()


def test_slow_bf16_is_a_warning_with_the_ratio(
    model: Model, speed: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    speed.append(0.005)
    placed = PlacedModel(model, Computing(precision="bf16"), "prediction")
    assert isinstance(placed.model_for(PLENTY).base, InferenceBase)
    assert "0.005 times the speed of fp32" in capsys.readouterr().err


def test_slow_int8_is_a_warning_with_the_ratio(
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(placing, "int8_speed", lambda model: 0.02)
    PlacedModel(model, Labelling(precision="int8"), "prediction")
    assert "prediction: int8 as asked, though" in (found := capsys.readouterr().err)
    assert "0.02 times the speed of fp32" in found


def test_int8_is_measured_in_moments(model: Model) -> None:
    assert placing.int8_speed(model) > 0


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_int8_is_for_a_cpu(model: Model, name: Any) -> None:
    with pytest.raises(InputError, match="int8 is computed on a CPU"):
        PlacedModel(model, Labelling(device=name, precision="int8"), "p")


def test_int8_needs_linear_layers(make_model: Callable[..., Model]) -> None:
    with pytest.raises(InputError, match="no linear layers"):
        PlacedModel(make_model("classification", layers=0), Labelling(precision="int8"), "p")


def test_int8_needs_a_torch_that_has_it(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "has_int8", lambda: False)
    with pytest.raises(InputError, match="cannot compute in int8"):
        PlacedModel(model, Labelling(precision="int8"), "p")


def test_a_device_that_is_not_there(model: Model) -> None:
    with pytest.raises(InputError, match="no MPS device"):
        PlacedModel(model, Computing(device="mps"), "p").model_for(LITTLE)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_batches_at_the_same_time_are_those_one_after_the_other(
    make_wide: Callable[..., Model],
    tiny_tokenizer: Tokenizer,
    tiny_texts: list[str],
    precision: Any,
) -> None:
    model = make_wide("classification")
    converted = PlacedModel(model, Labelling(precision=precision), "p").model_for([])
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            labelled = predict(
                *(converted, tiny_tokenizer, ["a", "b"], tiny_texts), causal=False, batch_tokens=80
            )
            found.append([prediction.score for prediction in labelled])
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


# --- one row at a time --------------------------------------------------------------------------


def test_generation_is_in_fp32_unless_asked(model: Model, speed: list[float]) -> None:
    assert generator_model(model, Computing(), "generation") is model
    half = generator_model(model, Computing(precision="bf16"), "generation")
    weights = [half.base.blocks[0].attention.qkv.weight, model.base.blocks[0].attention.qkv.weight]
    assert [weight.dtype for weight in weights] == [torch.bfloat16, torch.float32]
    assert half.base.embedding.weight.dtype == torch.float32
    ids = torch.tensor([[4, 5, 6]])
    with torch.inference_mode():
        exact, rounded = (each.eval().base(ids, causal=True) for each in (model, half))
    assert 0 < (exact - rounded.float()).abs().mean() < 0.02 * exact.std()


def test_generation_does_not_quantize(model: Model) -> None:
    with pytest.raises(InputError, match="generation does not compute in int8"):
        generator_model(model, Labelling(precision="int8"), "generation")
