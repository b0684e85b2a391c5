"""--device and --precision of the verbs that use a trained model."""

from __future__ import annotations

import json

import pytest

import greffe
from greffe import demo
from greffe.config.options import Computing
from greffe.lab import run_lab
from greffe.model.layers import Block
from greffe.samples.toy import toy_reviews

TEXTS = [text for _, text in toy_reviews(30, seed=9)]
PRECISIONS = ("fp32", "bf16", "int8")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", "utf-8")
    return path


def scores(outcome):
    assert outcome.code == 0, outcome.err
    return [json.loads(line)["score"] for line in outcome.out.splitlines()]


def test_predict_in_each_precision(command, world, texts):
    words = ("predict", world.classifier, "--input", texts, "--format", "jsonl", "--precision")
    found = {precision: scores(command(*words, precision)) for precision in (*PRECISIONS, "auto")}
    assert found["auto"] == found["fp32"], "little text is read in fp32"
    for precision in ("bf16", "int8"):
        assert found[precision] != found["fp32"]
        assert found[precision] == pytest.approx(found["fp32"], abs=0.03)


def test_evaluate_in_each_precision(command, world):
    words = ("evaluate", world.classifier, "--data", world.valid, "--json", "--precision")
    losses = []
    for precision in PRECISIONS:
        outcome = command(*words, precision)
        assert outcome.code == 0, outcome.err
        losses.append(json.loads(outcome.out)["log_loss"])
    assert len(set(losses)) == 3 and losses == pytest.approx([losses[0]] * 3, rel=0.05)
    # A dozen texts: the accuracies are equal, or one text apart, which is a warning.
    assert "in int8" in outcome.err or "int8 changes the accuracy" in outcome.err


def test_python_takes_the_same_choices(world):
    exact, half, quantized = (
        greffe.load(world.classifier, precision=precision).predict(TEXTS)
        for precision in PRECISIONS
    )
    for one, other in ((exact, half), (exact, quantized)):
        assert [each.score for each in one] != [each.score for each in other]
        assert [each.score for each in one] == pytest.approx([e.score for e in other], abs=0.03)


def test_the_check_of_int8_is_made_once(world, capsys):
    run = greffe.load(world.classifier, precision="int8")
    several = TEXTS * 7
    run.predict(several)
    run.predict(several)
    found = capsys.readouterr().err
    assert found.count("labels are those of fp32") + found.count("int8 changes") == 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_generate_and_fill(command, world, precision):
    for words in (("generate", world.base, "le", "--tokens", "4"), ("fill", world.base, "<mask>")):
        plain = command(*words)
        outcome = command(*words, "--precision", precision, "--device", "cpu")
        assert outcome.code == 0 and outcome.out, outcome.err
        assert precision != "fp32" or outcome.out == plain.out


@pytest.mark.parametrize("verb", ["generate", "fill", "linear", "pretrain", "lab", "demo"])
def test_int8_is_only_for_labels(command, world, verb):
    outcome = command(verb, *(() if verb in ("lab", "demo") else (world.base,)), "--precision=int8")
    assert outcome.code == 2 and "int8" in outcome.err
    assert "Traceback" not in outcome.err


def test_features_in_bf16_are_close(command, world, tmp_path):
    words = ("linear", "--from", world.base, "--data", world.train, "--no-tfidf", "--out")
    for precision in ("fp32", "bf16"):
        outcome = command(*words, tmp_path / precision, "--precision", precision)
        assert outcome.code == 0, outcome.err
    exact, half = (
        [each.score for each in greffe.load(tmp_path / name, precision="fp32").predict(TEXTS)]
        for name in ("fp32", "bf16")
    )
    assert exact != half and exact == pytest.approx(half, abs=0.1)
    read_in_half = greffe.load(tmp_path / "fp32", precision="bf16").predict(TEXTS)
    assert [each.score for each in read_in_half] == pytest.approx(exact, abs=0.05)
    # The weights that are kept are those of the base, whatever it computed in.
    assert len({(tmp_path / n / "weights.safetensors").read_bytes() for n in ("fp32", "bf16")}) == 1

    refused = command("predict", tmp_path / "fp32", "Un livre.", "--precision", "int8")
    assert refused.code == 2 and "a linear model or an ensemble" in refused.err


def test_an_ensemble_refuses_int8(command, world, tmp_path):
    greffe.linear(world.train, out=tmp_path / "tfidf")
    greffe.ensemble([world.classifier, tmp_path / "tfidf"], out=tmp_path / "both")
    for verb in (("predict", "Un livre."), ("evaluate", "--data", world.valid)):
        refused = command(verb[0], tmp_path / "both", *verb[1:], "--precision", "int8")
        assert refused.code == 2 and "a linear model or an ensemble" in refused.err
    half = greffe.load(tmp_path / "both", precision="bf16").predict(TEXTS)
    exact = greffe.load(tmp_path / "both").predict(TEXTS)
    assert [each.score for each in half] == pytest.approx([each.score for each in exact], abs=0.03)


def test_int8_needs_layers(command, world, tmp_path):
    words = ("finetune", "--scratch", "--like", world.base, "--data", world.train)
    made = command(*words, "--set", "model.layers=0", "--budget=1epochs", "--out", tmp_path / "r")
    assert made.code == 0, made.err
    refused = command("predict", tmp_path / "r", "Un livre.", "--precision", "int8")
    assert refused.code == 2 and "no linear layers" in refused.err
    assert command("predict", tmp_path / "r", "Un livre.", "--precision", "bf16").code == 0


@pytest.mark.parametrize(
    "verb", ["predict", "evaluate", "generate", "fill", "linear", "lab", "demo"]
)
def test_a_device_that_is_not_there_is_an_error_of_every_verb(command, world, tmp_path, verb):
    words = {
        "predict": (world.classifier, "Un livre."),
        "evaluate": (world.classifier, "--data", world.valid),
        "generate": (world.base, "le"),
        "fill": (world.base, "<mask>"),
        "linear": ("--from", world.base, "--data", world.train, "--out", tmp_path / "out"),
        "lab": ("--out", tmp_path / "out"),
        "demo": ("--out", tmp_path / "out"),
    }
    failed = command(verb, *words[verb], "--device", "mps")
    assert failed.code == 2 and "There is no MPS device" in failed.err, failed.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("module", "calls", "others"),
    [
        (demo, ["load_run", "pretrain", "finetune", "compare"], ["_introduce", "_loss_bars"]),
        (run_lab, ["pretrain", "pretrain", "compare"], ["_attention"]),
    ],
)
def test_the_lab_and_the_demo_pass_both_on(module, calls, others, monkeypatch, tmp_path):
    seen = []

    def watch(name):
        def note(*args, **options):
            given = vars(options["training"]) if "training" in options else options
            seen.append((name, given["device"], given["precision"]))
            if name == "compare":
                raise InterruptedError

        return note

    for name in calls:
        monkeypatch.setattr(module, name, watch(name))
    for name in others:
        monkeypatch.setattr(module, name, lambda *args: None)
    function = demo.demo if module is demo else run_lab.lab
    with pytest.raises(InterruptedError):
        function(tmp_path, computing=Computing(device="cpu", precision="bf16"))
    assert seen == [(name, "cpu", "bf16") for name in calls]


def test_blocks_are_not_used_in_int8(world, monkeypatch):
    """The quantized copy is what reads the texts: the plain blocks would be slower."""
    run = greffe.load(world.classifier, precision="int8")
    run.predict(TEXTS[:2])  # with the check
    monkeypatch.setattr(Block, "forward", None)
    assert len(run.predict(TEXTS[:2])) == 2
