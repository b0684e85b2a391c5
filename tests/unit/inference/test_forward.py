from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from greffe.errors import InputError
from greffe.inference.forward import device_of, evaluation_mode, require_head
from greffe.model.model import Model

MakeModel = Callable[..., Model]


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_restored(make_model: MakeModel, training: bool) -> None:
    model = make_model("next_token").train(training)
    with evaluation_mode(model):
        assert not model.training
        assert torch.is_inference_mode_enabled()
    assert model.training is training
    assert not torch.is_inference_mode_enabled()


def test_the_mode_is_restored_after_an_error(make_model: MakeModel) -> None:
    model = make_model("next_token")
    with pytest.raises(ZeroDivisionError), evaluation_mode(model):
        raise ZeroDivisionError
    assert model.training


def test_device(make_model: MakeModel) -> None:
    assert device_of(make_model("next_token")) == torch.device("cpu")


def test_a_missing_head_is_an_error_that_lists_the_others(make_model: MakeModel) -> None:
    model = make_model("next_token", "classification")
    require_head(model, "classification", purpose="classify", hint="none")
    with pytest.raises(InputError, match="cannot fill masks") as caught:
        require_head(model, "masked_token", purpose="fill masks", hint="pretrain one")
    assert "masked_token" in str(caught.value.expected)
    assert "next_token, classification" in str(caught.value.found)
    assert caught.value.hint == "pretrain one"
    with pytest.raises(InputError, match="none"):
        require_head(make_model(), "masked_token", purpose="fill masks", hint="pretrain one")
