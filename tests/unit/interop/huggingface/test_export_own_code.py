"""Models that no class of transformers expresses: the code in the folder computes the same."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
import transformers
from tests.unit.interop.huggingface.exported import (
    TEXTS,
    check_import,
    check_outputs,
    export,
    load,
    shape_of,
    write_run,
)

from greffe.config.components import Direction, PositionSpec
from greffe.config.sections import ModelSpec, Pooler
from greffe.data.tokenizer import Tokenizer
from greffe.errors import GreffeError
from greffe.inference.generate import generate
from greffe.inference.predict import predict
from greffe.interop.huggingface import remote_code
from greffe.training.checkpoint import load_model

pytestmark = pytest.mark.usefixtures("code_cache", "unsynced")
SHAPES: list[tuple[str, dict[str, Any]]] = [
    *[("small", {"position": {"kind": kind}}) for kind in PositionSpec.kinds()],
    *[("lab", {"position": {"kind": kind}}) for kind in ("sinusoidal", "rotary")],
    ("small", {"window": 3, "global_every": 2, "position": {"kind": "alibi"}}),
    ("small", {"window": 4, "position": {"kind": "rotary", "base": 900.0, "local_base": 50.0}}),
    ("small", {"norm_kind": "rms", "gated": True, "kv_heads": 2, "activation": "silu"}),
    ("small", {"embedding_norm": True, "norm_bias": False, "linear_bias": False, "tied": False}),
    ("small", {"embedding_width": 15, "position": {"kind": "sinusoidal"}, "head_bias": False}),
    ("small", {"embedding_width": 16, "embedding_norm": True, "activation": "gelu_tanh"}),
    ("lab", {"embedding_norm": True, "head_activation": "relu", "scale_embedding": True}),
]


@pytest.mark.parametrize(("recipe", "changes"), SHAPES)
def test_both_heads_of_a_hybrid_base(
    recipe: str, changes: dict[str, Any], tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    model = shape_of(recipe, **changes)
    heads = ["next_token", "masked_token", "next_sentence"]
    both: list[Direction] = ["causal", "bidirectional"]
    run = write_run(tmp_path / "run", tiny_tokenizer, model, heads, both)
    folder = tmp_path / "folder"
    written = export(run, folder)
    assert (written.architecture, written.needs_remote_code) == ("GreffeForCausalLM", True)
    own = check_outputs(run, load(written, folder), "next_token", causal=True)
    masked = load(written, folder, "AutoModelForMaskedLM")
    check_outputs(run, masked, "masked_token", causal=False, own=own)
    assert check_import(run, folder, left="next_sentence").objective == "hybrid"


@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_a_base_reads_as_it_was_trained(
    direction: Direction, tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("small"), [], [direction])
    written = export(run, tmp_path / "folder")
    assert (written.architecture, written.auto_class) == ("GreffeModel", "AutoModel")
    check_outputs(run, load(written, tmp_path / "folder"), "", causal=direction == "causal")
    assert check_import(run, tmp_path / "folder").objective == (
        "causal" if direction == "causal" else "masked"
    )


@pytest.mark.parametrize("embedding_width", [0, 16])
@pytest.mark.parametrize("pooler", get_args(Pooler))
def test_classifiers_with_every_pooler(
    pooler: Pooler, embedding_width: int, tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    labels = ["négatif", "neutre", "positif"]
    direction: Direction = "causal" if pooler in ("last", "max") else "bidirectional"
    recipe = "small" if direction == "causal" else "bert"
    model = shape_of(recipe, embedding_width=embedding_width)
    run = write_run(
        tmp_path / "run", tiny_tokenizer, model, [], [direction], labels=labels, pooler=pooler
    )
    folder = tmp_path / "folder"
    written = export(run, folder)
    theirs = load(written, folder)
    assert theirs.config.id2label == dict(enumerate(labels))
    assert theirs.config.label2id == {label: number for number, label in enumerate(labels)}
    check_outputs(run, theirs, "classification", causal=direction == "causal")
    assert not check_import(run, folder, left="classification").heads


def test_the_pipeline_for_classification(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    labels = ["négatif", "positif"]
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("small"), [], labels=labels)
    export(run, tmp_path / "folder")
    classify = transformers.pipeline(
        "text-classification", model=str(tmp_path / "folder"), trust_remote_code=True
    )
    expected = list(predict(load_model(run), tiny_tokenizer, labels, TEXTS, causal=False))
    for batch_size in (1, 3):
        found = classify(TEXTS, batch_size=batch_size)
        assert [item["label"] for item in found] == [item.label for item in expected]
        assert [item["score"] for item in found] == pytest.approx(
            [item.score for item in expected], abs=1e-5
        )


def test_texts_are_continued_in_the_same_way(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    model = shape_of("small", context=64)
    run = write_run(tmp_path / "run", tiny_tokenizer, model, ["next_token"], ["causal"])
    written = export(run, tmp_path / "folder")
    theirs = load(written, tmp_path / "folder")
    own, prompts = load_model(run), ["Ce livre est", "Un roman"]
    choices = {"tokens": 9, "temperature": 0.0, "repetition_penalty": 1.0}
    expected = [list(generate(own, tiny_tokenizer, prompt, **choices)) for prompt in prompts]
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        tmp_path / "folder", trust_remote_code=True
    )
    ids = [tokenizer(prompt).input_ids[:-1] for prompt in prompts]  # without <eos>
    # Generation pads on the left.
    batch = tokenizer.pad({"input_ids": ids}, padding_side="left", return_tensors="pt")
    made = theirs.generate(**batch, max_new_tokens=9, do_sample=False)
    found = [row[batch["input_ids"].shape[1] :].tolist() for row in made]
    for own_ids, their_ids in zip(expected, found, strict=True):
        assert their_ids[: len(own_ids)] == own_ids
        assert set(their_ids[len(own_ids) :]) <= {tokenizer.eos_token_id, tokenizer.pad_token_id}


def test_losses_are_those_of_the_labels(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    heads = ["next_token", "masked_token"]
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("small"), heads)
    written = export(run, tmp_path / "folder")
    rows = torch.randint(5, tiny_tokenizer.size, (2, 6))
    causal, masked = (
        load(written, tmp_path / "folder", name)
        for name in ("AutoModelForCausalLM", "AutoModelForMaskedLM")
    )
    with torch.inference_mode():
        found = causal(input_ids=rows, labels=rows)
        logits = found.logits[:, :-1].log_softmax(-1)
        expected = -logits.gather(-1, rows[:, 1:, None]).mean()
        torch.testing.assert_close(found.loss, expected)
        labels = torch.where(torch.arange(6) == 2, rows, -100)
        found = masked(input_ids=rows, labels=labels)
        logits = found.logits[:, 2].log_softmax(-1)
        torch.testing.assert_close(found.loss, -logits.gather(-1, rows[:, 2:3]).mean())


def test_the_configuration_has_every_choice_of_a_model() -> None:
    """A new choice of greffe must be added to the code of exported folders."""
    folder = Path(inspect.getfile(remote_code)).parent
    code = (folder / "configuration_greffe.py").read_text("utf-8")
    for name in ModelSpec.model_fields:
        assert f"\n    {name}: " in code, name
    layers = (folder / "layers_greffe.py").read_text("utf-8")
    for kind in PositionSpec.kinds().keys() - {"none"}:
        assert f'"{kind}"' in layers, kind


def test_the_code_needs_nothing_of_greffe() -> None:
    folder = Path(inspect.getfile(remote_code)).parent
    for file in folder.glob("*_greffe.py"):
        assert "import greffe" not in file.read_text("utf-8")
        assert "from greffe" not in file.read_text("utf-8")


@pytest.mark.parametrize(
    "changes",
    [{"heads": 5}, {"position": {"kind": "spiral"}}, {"width": 10**9}, {"causal": 3}, {"norm": 1}],
)
def test_a_changed_configuration_is_refused(
    changes: dict[str, Any], tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("small"), [], ["causal"])
    export(run, tmp_path / "folder")
    path = tmp_path / "folder" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(GreffeError, match=r"config\.json"):
        check_import(run, tmp_path / "folder")
