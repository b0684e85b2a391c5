"""State for resuming: exact, complete at any moment, and honest about damage."""

from __future__ import annotations

import json
import multiprocessing
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.sections import ModelSpec, TrainSpec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.model import Model, build_model
from greffe.model.weights import load_tensors, save_tensors
from greffe.progress import quiet
from greffe.run import Manifest, RunDirectory, new_lineage
from greffe.storage import file_hash
from greffe.training import checkpoint as checkpoint_module
from greffe.training.checkpoint import (
    OPTIMIZER,
    STATE_FILE,
    WEIGHTS,
    TrainingState,
    best_path,
    check_tokenizer,
    last_checkpoint,
    load_checkpoint,
    load_model,
    load_tokenizer,
    read_state,
    run_weights,
    save_best,
    save_checkpoint,
    write_half,
)
from greffe.training.optim import build_optimizer

SHAPE = ModelSpec(width=16, layers=2, heads=2, feed_forward=32, context=16)
HEADS: dict[str, HeadSpec] = {"masked_token": MaskedTokenHead()}
SPEC = TrainSpec()


def make(seed: int = 0) -> tuple[Model, torch.optim.Optimizer]:
    model = build_model(SHAPE, 300, HEADS, seed)
    return model, build_optimizer(model, SPEC, SHAPE.layers)


def take_steps(model: Model, optimizer: torch.optim.Optimizer, steps: int, first: int = 0) -> None:
    """Steps with gradients that are a function of the step."""
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(step)
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()


def everything(model: Model, optimizer: torch.optim.Optimizer) -> dict[str, bytes]:
    found = {name: value.numpy().tobytes() for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for moment, value in optimizer.state[parameter].items():
            found[f"{name}/{moment}"] = value.numpy().tobytes()
    return found


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    """A folder with one checkpoint, of step 3."""
    model, optimizer = make()
    take_steps(model, optimizer, 3)
    save_checkpoint(tmp_path / "checkpoints", model, optimizer, TrainingState(step=3))
    return tmp_path / "checkpoints"


# --- round trip ---------------------------------------------------------------------------------


def test_a_checkpoint_brings_back_everything_bit_for_bit(tmp_path: Path) -> None:
    model, optimizer = make()
    take_steps(model, optimizer, 3)
    state = TrainingState(
        step=3,
        tokens=99,
        seconds=1.2345678901234567,
        skipped=2,
        best_step=2,
        best_score=-0.1,
        last_evaluation={"loss": 0.1},
    )
    save_checkpoint(tmp_path, model, optimizer, state)
    other, other_optimizer = make(seed=9)
    found = load_checkpoint(tmp_path / "step-00000003", other, other_optimizer)
    assert found.model_copy(update={"files": {}}) == state
    assert everything(other, other_optimizer) == everything(model, optimizer)
    moments = {name.partition("/")[2] for name in everything(model, optimizer)}
    assert moments == {"", "step", "exp_avg", "exp_avg_sq"}
    # What comes after is the same too.
    take_steps(model, optimizer, 2, first=3)
    take_steps(other, other_optimizer, 2, first=3)
    assert everything(other, other_optimizer) == everything(model, optimizer)


@pytest.mark.parametrize(
    "damage",
    [
        {"step": -1},
        {"step": 4},
        {"step": 10**30},
        {"seconds": -1},
        {"tokens": "many"},
        {"skipped": None},
        {"files": {}},
        {"files": {"weights.safetensors": "w"}},
        {"files": {"weights.safetensors": 1, "optimizer.safetensors": 2}},
        {"files": ["weights.safetensors"]},
        {"last_evaluation": {"loss": "low"}},
        {"best_evaluation": [1]},
        {"best_step": -5},
        {"unknown": 1},
    ],
)
def test_a_damaged_state(checkpoints: Path, damage: dict[str, Any]) -> None:
    path = checkpoints / "step-00000003" / "state.json"
    assert read_state(path.parent).step == 3
    path.write_text(json.dumps(json.loads(path.read_text()) | damage))
    with pytest.raises(CorruptError, match="damaged"):
        read_state(path.parent)


@pytest.mark.parametrize(
    "damage",
    [
        {"no.such.parameter/step": torch.zeros(())},
        {"base.embedding.weight/exp_avg": torch.zeros(3)},
        {"base.embedding.weight/step": torch.zeros(7)},
        {"base.embedding.weight/momentum": torch.zeros(())},
        {"base.embedding.weight": torch.zeros(())},
        {"base.embedding.weight/step": None},
    ],
)
def test_moments_of_another_model(checkpoints: Path, damage: dict[str, Any]) -> None:
    folder = checkpoints / "step-00000003"
    changed = load_tensors(folder / "optimizer.safetensors") | damage
    kept = {name: tensor for name, tensor in changed.items() if tensor is not None}
    digest = save_tensors(folder / "optimizer.safetensors", kept)
    state = json.loads((folder / "state.json").read_text())
    state["files"]["optimizer.safetensors"] = digest
    (folder / "state.json").write_text(json.dumps(state))
    with pytest.raises(CorruptError, match="does not belong to the weights"):
        load_checkpoint(folder, *make())


def test_frozen_tensors_have_no_moments_and_need_none(tmp_path: Path) -> None:
    model, optimizer = make()
    take_steps(model, optimizer, 1)
    frozen = model.base.embedding.weight
    del optimizer.state[frozen]
    save_checkpoint(tmp_path, model, optimizer, TrainingState(step=1))
    other, other_optimizer = make()
    load_checkpoint(tmp_path / "step-00000001", other, other_optimizer)
    assert other.base.embedding.weight not in other_optimizer.state
    assert len(other_optimizer.state) == len(optimizer.state) > 0


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER, STATE_FILE])
def test_a_truncated_file_is_an_error_that_names_it(checkpoints: Path, name: str) -> None:
    folder = checkpoints / "step-00000003"
    path = folder / name
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CorruptError, match="damaged") as caught:
        load_checkpoint(folder, *make())
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER])
def test_one_flipped_bit_is_found(checkpoints: Path, name: str) -> None:
    path = checkpoints / "step-00000003" / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 4
    path.write_bytes(data)
    with pytest.raises(CorruptError, match=name):
        load_checkpoint(path.parent, *make())


@pytest.mark.parametrize("name", [WEIGHTS, OPTIMIZER, STATE_FILE])
def test_a_missing_file_is_an_error_that_names_it(checkpoints: Path, name: str) -> None:
    path = checkpoints / "step-00000003" / name
    path.unlink()
    with pytest.raises(CorruptError, match="missing"):
        load_checkpoint(path.parent, *make())


def test_a_state_of_another_version_is_refused(checkpoints: Path) -> None:
    path = checkpoints / "step-00000003" / STATE_FILE
    path.write_text(path.read_text().replace('"tokens"', '"words"'))
    with pytest.raises(CorruptError, match="damaged"):
        read_state(path.parent)


def test_a_checkpoint_of_another_architecture_names_the_tensors(checkpoints: Path) -> None:
    model = build_model(SHAPE.model_copy(update={"layers": 1}), 300, HEADS, 0)
    with pytest.raises(MismatchError, match="do not fit") as caught:
        load_checkpoint(checkpoints / "step-00000003", model, build_optimizer(model, SPEC, 1))
    assert "base.blocks.1." in str(caught.value)


# --- what is kept and what goes -----------------------------------------------------------------


def test_only_the_last_checkpoint_stays(checkpoints: Path) -> None:
    (checkpoints / ".step-00000004.999.tmp").mkdir()  # of a process that was killed
    save_checkpoint(checkpoints, *make(), TrainingState(step=120))
    assert names(checkpoints) == ["step-00000120"]
    assert last_checkpoint(checkpoints) == checkpoints / "step-00000120"
    assert last_checkpoint(checkpoints / "none") is None


def test_saving_a_step_again_replaces_it(checkpoints: Path) -> None:
    model, optimizer = make(seed=5)
    save_checkpoint(checkpoints, model, optimizer, TrainingState(step=3, tokens=7))
    assert names(checkpoints) == ["step-00000003"]
    assert load_checkpoint(checkpoints / "step-00000003", *make()).tokens == 7


def test_a_complete_checkpoint_exists_at_every_moment(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the step: before each renaming and removal, the last checkpoint can be loaded."""
    moments = 0

    def checked(change: Any) -> Any:
        def call(path: Path, *args: Any, **more: Any) -> Any:
            nonlocal moments
            moments += 1
            last = last_checkpoint(checkpoints)
            assert last is not None
            load_checkpoint(last, *make())
            return change(path, *args, **more)

        return call

    for owner, name in ((Path, "rename"), (shutil, "rmtree")):
        monkeypatch.setattr(owner, name, checked(getattr(owner, name)))
    for step in (3, 4):
        save_checkpoint(checkpoints, *make(), TrainingState(step=step))
    assert moments >= 7
    assert names(checkpoints) == ["step-00000004"]


def test_a_better_one_replaces_the_best(tmp_path: Path) -> None:
    model, _ = make()
    save_best(tmp_path, model, 10)
    save_best(tmp_path, model, 20)
    assert names(tmp_path) == ["best-00000020.safetensors"]


def test_the_best_of_the_last_checkpoint_survives_until_the_next(tmp_path: Path) -> None:
    """A run resumed after a crash needs the best weights of its checkpoint."""
    model, optimizer = make()
    digest = save_best(tmp_path, model, 80)
    state = TrainingState(step=100, best_step=80, best_hash=digest)
    save_checkpoint(tmp_path, model, optimizer, state)
    for step in (120, 140):
        save_best(tmp_path, model, step)
        assert best_path(tmp_path, 80).exists() and best_path(tmp_path, step).exists()
    assert not best_path(tmp_path, 120).exists()
    save_checkpoint(tmp_path, model, optimizer, TrainingState(step=150, best_step=140))
    assert names(tmp_path) == ["best-00000140.safetensors", "step-00000150"]


def test_a_checkpoint_keeps_the_best_and_removes_those_before(tmp_path: Path) -> None:
    model, optimizer = make()
    save_best(tmp_path, model, 5)
    save_checkpoint(tmp_path, model, optimizer, TrainingState(step=7, best_step=5))
    assert names(tmp_path) == ["best-00000005.safetensors", "step-00000007"]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process grows past `size`: writing fails in the middle, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(("fraction", "failing"), [(0.5, WEIGHTS), (1.2, OPTIMIZER)])
def test_a_disk_that_fills_up_leaves_the_last_checkpoint(
    checkpoints: Path, fraction: float, failing: str
) -> None:
    folder = checkpoints / "step-00000003"
    size = (folder / WEIGHTS).stat().st_size
    assert (folder / OPTIMIZER).stat().st_size > 1.5 * size
    model, optimizer = make()
    take_steps(model, optimizer, 3)
    before = everything(model, optimizer)
    take_steps(model, optimizer, 1)
    with (
        pytest.raises(RunError, match="could not write") as caught,
        largest_file(int(fraction * size)),
    ):
        save_checkpoint(checkpoints, model, optimizer, TrainingState(step=4))
    assert failing in str(caught.value) and "unchanged" in str(caught.value)
    assert names(checkpoints) == ["step-00000003"]
    other, other_optimizer = make(seed=1)
    assert load_checkpoint(folder, other, other_optimizer).step == 3
    assert everything(other, other_optimizer) == before
    # With room again, the next one is written.
    save_checkpoint(checkpoints, model, optimizer, TrainingState(step=4))
    assert names(checkpoints) == ["step-00000004"]


def test_a_disk_that_fills_up_leaves_the_best(tmp_path: Path) -> None:
    digest = save_best(tmp_path, make(seed=1)[0], 10)
    with pytest.raises(RunError, match="could not write"), largest_file(1000):
        save_best(tmp_path, make(seed=2)[0], 20)
    assert names(tmp_path) == ["best-00000010.safetensors"]
    load_tensors(best_path(tmp_path, 10), digest)


# --- runs ---------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, tiny_tokenizer: Tokenizer) -> RunDirectory:
    """A run in training, without weights yet."""
    made = RunDirectory(tmp_path / "run")
    made.path.mkdir()
    made.write_recipe(Recipe(model=SHAPE))
    tiny_tokenizer.save(made.tokenizer_path)
    made.write_manifest(
        Manifest(
            kind="language-model",
            status="training",
            vocab=300,
            heads=HEADS,
            directions=["bidirectional"],
            lineage=new_lineage(
                threads=1, initial_base="", tokenizer=tiny_tokenizer.fingerprint, data={}
            ),
        )
    )
    return made


def finish(run: RunDirectory, model: Model, **changes: Any) -> None:
    digest = save_tensors(run.weights_path, model.state_dict())
    update = {"status": "finished", "weights": digest, **changes}
    run.write_manifest(run.manifest().model_copy(update=update))


def test_a_finished_run_gives_its_weights(run: RunDirectory) -> None:
    model, _ = make(seed=4)
    finish(run, model)
    loaded = load_model(run)
    assert not loaded.training
    for name, value in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)


def test_replaced_weights_are_refused(run: RunDirectory) -> None:
    finish(run, make(seed=4)[0])
    save_tensors(run.weights_path, make(seed=5)[0].state_dict())
    with pytest.raises(CorruptError, match="replaced"):
        load_model(run)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(run: RunDirectory, value: float) -> None:
    model, optimizer = make(seed=4)
    with torch.no_grad():
        model.base.embedding.weight[3, 2] = value
    save_checkpoint(run.checkpoints_path, model, optimizer, TrainingState(step=3))
    with pytest.raises(CorruptError, match="not finite"):
        load_checkpoint(run.checkpoints_path / "step-00000003", *make())
    for _ in ("training", "finished"):
        with pytest.raises(CorruptError, match="not finite") as caught:
            load_model(run)
        assert "1 of 4,800 values of base.embedding.weight" in str(caught.value)
        finish(run, model)


def test_weights_of_another_architecture_are_refused(run: RunDirectory) -> None:
    finish(run, build_model(SHAPE.model_copy(update={"width": 32}), 300, HEADS, 0))
    with pytest.raises(MismatchError, match="do not fit") as caught:
        load_model(run)
    assert "base.embedding.weight" in str(caught.value)


def test_a_run_without_weights_says_how_to_go_on(run: RunDirectory) -> None:
    with pytest.raises(RunError, match="no weights yet") as caught:
        load_model(run)
    assert "--resume" in str(caught.value)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_an_unfinished_run_gives_what_it_would_keep(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], keep: str
) -> None:
    run.write_recipe(Recipe(model=SHAPE, train=TrainSpec(keep=keep)))
    best, last = make(seed=1)[0], make(seed=2)[0]
    digest = save_best(run.checkpoints_path, best, 5)
    state = TrainingState(step=8, best_step=5, best_hash=digest)
    save_checkpoint(run.checkpoints_path, last, make()[1], state)
    weights, found = run_weights(run)
    expected = best if keep == "best" else last
    assert torch.equal(weights["base.embedding.weight"], expected.base.embedding.weight)
    assert (found == digest) == (keep == "best")
    step = 5 if keep == "best" else 8
    assert f"step {step}" in capsys.readouterr().err


class Training:
    """A training that proceeds while a reader loads its weights."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self.step = 0
        self.model, self.optimizer = make(seed=1)

    def proceed(self) -> None:
        self.step += 1
        digest = save_best(self.run.checkpoints_path, self.model, self.step)
        state = TrainingState(step=self.step, best_step=self.step, best_hash=digest)
        save_checkpoint(self.run.checkpoints_path, self.model, self.optimizer, state)

    def end(self) -> None:
        finish(self.run, self.model)
        shutil.rmtree(self.run.checkpoints_path)


@pytest.mark.parametrize("keep", ["best", "last"])
@pytest.mark.parametrize("moment", ["read_state", "load_weights"])
@pytest.mark.parametrize("change", ["proceed", "end"])
def test_weights_that_are_replaced_while_they_are_read_are_read_again(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, keep: str, moment: str, change: str
) -> None:
    run.write_recipe(Recipe(model=SHAPE, train=TrainSpec(keep=keep)))
    training = Training(run)
    training.proceed()
    left = 3 if change == "proceed" else 1
    read = getattr(checkpoint_module, moment)

    def late(*args: Any) -> Any:
        nonlocal left
        if left:
            left -= 1
            with monkeypatch.context() as patch:
                patch.setattr(checkpoint_module, moment, read)
                getattr(training, change)()
        return read(*args)

    monkeypatch.setattr(checkpoint_module, moment, late)
    weights, _ = run_weights(run)
    assert left == 0
    assert torch.equal(weights["base.embedding.weight"], training.model.base.embedding.weight)


@pytest.mark.parametrize("name", [STATE_FILE, WEIGHTS])
def test_a_file_that_is_really_missing_is_named_at_once(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run.write_recipe(Recipe(model=SHAPE, train=TrainSpec(keep="last")))
    Training(run).proceed()
    (run.checkpoints_path / "step-00000001" / name).unlink()
    tries = 0

    def counted(folder: Path) -> TrainingState:
        nonlocal tries
        tries += 1
        return read_state(folder)

    monkeypatch.setattr(checkpoint_module, "read_state", counted)
    with pytest.raises(CorruptError, match=name):
        run_weights(run)
    assert tries == 1


@pytest.mark.alone
def test_weights_are_read_beside_a_training_that_saves_every_step(run: RunDirectory) -> None:
    training = Training(run)
    training.proceed()
    process = multiprocessing.get_context("fork").Process(target=save_and_end, args=(training,))
    process.start()
    reads = 0
    with quiet():
        while process.is_alive():
            run_weights(run)
            reads += 1
        process.join()
        run_weights(run)
    assert process.exitcode == 0 and reads > 20
    assert run.manifest().status == "finished"


def save_and_end(training: Training) -> None:
    for _ in range(150):
        training.proceed()
    training.end()


def test_a_foreign_tokenizer_is_refused(run: RunDirectory, tiny_tokenizer: Tokenizer) -> None:
    assert load_tokenizer(run).fingerprint == tiny_tokenizer.fingerprint
    manifest = run.manifest()
    lineage = manifest.lineage.model_copy(update={"tokenizer": "f" * 64})
    run.write_manifest(manifest.model_copy(update={"lineage": lineage}))
    with pytest.raises(MismatchError, match="tokenizer") as caught:
        load_tokenizer(run)
    assert "f" * 12 in str(caught.value)
    assert tiny_tokenizer.fingerprint[:12] in str(caught.value)
    check_tokenizer("a", "a", "here")


# --- half precision -----------------------------------------------------------------------------


@pytest.fixture
def pretrained(run: RunDirectory) -> RunDirectory:
    """The run, finished, with a lineage that contains local paths."""
    lineage = run.manifest().lineage.model_copy(
        update={
            "command": ["greffe", "pretrain", "/home/me/text.txt"],
            "parent": "/home/me/runs/older",
            "parent_weights": "a" * 64,
            "initial_base": "b" * 64,
            "data": {"corpus": "c" * 64},
        }
    )
    finish(run, make(seed=4)[0], lineage=lineage, result={"steps": 7, "tokens": 99})
    return run


def logits(run: RunDirectory) -> Tensor:
    ids = torch.arange(24).reshape(2, 12) + 5
    with torch.no_grad():
        scores: Tensor = load_model(run)(ids, "masked_token", causal=False)
    return scores


def test_half_precision_is_half_as_large_and_says_the_same(
    pretrained: RunDirectory, tmp_path: Path
) -> None:
    made = write_half(pretrained, tmp_path / "half")
    kept = load_tensors(made.weights_path, made.manifest().weights)
    assert {tensor.dtype for tensor in kept.values()} == {torch.float16}
    assert made.weights_path.stat().st_size < 0.6 * pretrained.weights_path.stat().st_size
    weights, digest = run_weights(made)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert digest == made.manifest().weights == file_hash(made.weights_path)
    difference = (logits(made) - logits(pretrained)).abs().max()
    assert 0 < difference < 1e-2 < logits(pretrained).abs().max()
    assert load_tokenizer(made).fingerprint == load_tokenizer(pretrained).fingerprint
    assert made.recipe() == pretrained.recipe()


def test_its_lineage_keeps_what_it_is_and_not_where_it_was_made(
    pretrained: RunDirectory, tmp_path: Path
) -> None:
    made = write_half(pretrained, tmp_path / "half")
    assert names(made.path) == ["recipe.toml", "run.json", "tokenizer.json", "weights.safetensors"]
    before, after = pretrained.manifest(), made.manifest()
    assert after.lineage == before.lineage.model_copy(update={"command": [], "parent": "older"})
    assert after == before.model_copy(update={"lineage": after.lineage, "weights": after.weights})
    for name in ("run.json", "recipe.toml"):
        text = (made.path / name).read_text("utf-8")
        assert "/home/me" not in text and str(tmp_path) not in text


def test_half_precision_with_a_flipped_bit_is_refused(
    pretrained: RunDirectory, tmp_path: Path
) -> None:
    made = write_half(pretrained, tmp_path / "half")
    data = bytearray(made.weights_path.read_bytes())
    data[-1] ^= 1
    made.weights_path.write_bytes(data)
    with pytest.raises(CorruptError, match="damaged or was replaced"):
        load_model(made)


def test_what_half_precision_cannot_hold_is_an_error(
    pretrained: RunDirectory, tmp_path: Path
) -> None:
    model, _ = make(seed=4)
    with torch.no_grad():
        model.base.embedding.weight[3, 2] = 70_000.0
    finish(pretrained, model)
    with pytest.raises(RunError, match=r"base\.embedding\.weight") as caught:
        write_half(pretrained, tmp_path / "half")
    assert "65,504" in str(caught.value)
    assert not (tmp_path / "half").exists()


def test_writing_again_replaces_the_run_and_keeps_its_card(
    pretrained: RunDirectory, tmp_path: Path
) -> None:
    made = write_half(pretrained, tmp_path / "half")
    (made.path / "README.md").write_text("card")
    model, _ = make(seed=5)
    finish(pretrained, model)
    write_half(pretrained, made.path)
    expected = model.base.embedding.weight.half().float()
    assert torch.equal(run_weights(made)[0]["base.embedding.weight"], expected)
    assert (made.path / "README.md").read_text() == "card"
    with pytest.raises(RunError, match="which this command reads"):
        write_half(pretrained, pretrained.path)


def test_only_a_finished_model_is_written(run: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written in half precision") as caught:
        write_half(run, tmp_path / "half")
    assert "training" in str(caught.value)
    assert not (tmp_path / "half").exists()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_weights_of_an_unfinished_run_are_widened_too(
    run: RunDirectory, dtype: torch.dtype
) -> None:
    model, optimizer = make(seed=1)
    save_checkpoint(run.checkpoints_path, model.to(dtype), optimizer, TrainingState(step=8))
    weights, _ = run_weights(run)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
