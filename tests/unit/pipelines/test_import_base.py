"""greffe import: a base from elsewhere becomes a finished run, or nothing is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.foreign_models import save_bert

from greffe.config.options import Output, TokenizerOptions
from greffe.config.recipe_files import shipped_recipe
from greffe.data.foreign_tokenizer_folder import read_foreign_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import (
    CorruptError,
    GreffeError,
    InputError,
    MismatchError,
    RunError,
    RunExistsError,
)
from greffe.inference.fill import fill
from greffe.inference.generate import generate_text
from greffe.model.weights import base_hash
from greffe.pipelines.import_base import import_base
from greffe.pipelines.sources import open_base
from greffe.run import RunDirectory
from greffe.storage import file_hash
from greffe.training.checkpoint import check_recipe, load_model, load_tokenizer


@pytest.fixture
def folder(tmp_path: Path, tiny_bert: Path) -> Path:
    """A copy of the small BERT, to be changed."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "bert"))


def _import(source: str | Path, out: Path, **options: object) -> RunDirectory:
    return import_base(source, Output(out=out), **options)  # type: ignore[arg-type]


def test_a_run_with_weights_tokenizer_and_lineage(tmp_path: Path, tiny_bert: Path) -> None:
    run = _import(tiny_bert, tmp_path / "run")
    check_recipe(run)
    manifest, recipe = run.manifest(), run.recipe()
    assert (manifest.kind, manifest.status) == ("language-model", "finished")
    assert set(manifest.heads) == {"masked_token", "pooled"}
    assert manifest.directions == ["bidirectional"]
    assert manifest.vocab == recipe.tokenizer.vocab == load_tokenizer(run).size
    assert recipe.name == "tiny-bert"
    assert recipe.objective.kind == "masked"
    assert recipe.model.family == "bert"
    lineage, imported = manifest.lineage, manifest.imported
    assert lineage.parent == str(tiny_bert)
    assert lineage.parent_weights == file_hash(tiny_bert / "model.safetensors")
    assert lineage.initial_base == base_hash(load_model(run))
    assert imported is not None
    assert imported.source == str(tiny_bert)
    assert imported.folded == {"token types": 48}
    assert f"imported from {tiny_bert}" in (run.path / "README.md").read_text().replace("\\", "")


def test_the_weights_are_those_of_the_file(tmp_path: Path, tiny_bert: Path) -> None:
    theirs = load_file(tiny_bert / "model.safetensors")
    own = load_model(_import(tiny_bert, tmp_path / "run")).state_dict()
    embedding = theirs["bert.embeddings.word_embeddings.weight"]
    assert torch.equal(own["base.embedding.weight"], embedding)
    query = theirs["bert.encoder.layer.1.attention.self.query.weight"]
    assert torch.equal(own["base.blocks.1.attention.qkv.weight"][:24], query)


def test_what_was_chosen_is_said(
    tmp_path: Path, tiny_bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _import(tiny_bert, tmp_path / "run")
    printed = capsys.readouterr().err
    assert "import: bert," in printed
    assert "fine-tuning defaults for" in printed


def test_without_a_language_model_head_fill_says_so(tmp_path: Path, tiny_texts: list[str]) -> None:
    bare = save_bert(tmp_path / "bare", tiny_texts, "BertModel", max_position_embeddings=40)
    run = _import(bare, tmp_path / "run")
    model, tokenizer = load_model(run), load_tokenizer(run)
    with pytest.raises(InputError, match="cannot fill masks"):
        fill(model, tokenizer, "Ce livre est <mask>.")
    with pytest.raises(InputError, match="cannot generate"):
        generate_text(model, tokenizer, "Ce livre")


def test_a_text_longer_than_the_positions_is_filled_in_a_window(
    tmp_path: Path, tiny_bert: Path
) -> None:
    run = _import(tiny_bert, tmp_path / "run")
    text = "Ce livre est beau. " * 20 + "<mask> est long. " + "Ce livre est triste. " * 20
    (found,) = fill(load_model(run), load_tokenizer(run), text, top=3)
    assert len(found) == 3


# --- output folders -------------------------------------------------------------------------------


def test_an_output_folder_is_not_replaced_unless_asked(tmp_path: Path, tiny_bert: Path) -> None:
    run = _import(tiny_bert, tmp_path / "run")
    before = run.manifest()
    with pytest.raises(RunExistsError):
        _import(tiny_bert, tmp_path / "run")
    assert run.manifest() == before
    again = import_base(tiny_bert, Output(out=tmp_path / "run", overwrite=True))
    assert again.manifest().weights == before.weights


def test_what_is_imported_is_never_overwritten(folder: Path) -> None:
    with pytest.raises(RunExistsError):
        import_base(folder, Output(out=folder, overwrite=True))
    assert (folder / "model.safetensors").is_file()


def _spoil_weights(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["bert.pooler.dense.bias"][3] = float("nan")
    save_file(tensors, folder / "model.safetensors")


def _spoil_shape(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["bert.pooler.dense.bias"] = torch.zeros(5)
    save_file(tensors, folder / "model.safetensors")


def _spoil_config(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_type": "t5"}))


@pytest.mark.parametrize(
    ("spoil", "kind", "match"),
    [
        (_spoil_weights, CorruptError, "not finite"),
        (_spoil_shape, MismatchError, "do not fit"),
        (_spoil_config, InputError, "does not know"),
        (lambda folder: (folder / "tokenizer.json").unlink(), InputError, "no tokenizer"),
        (lambda folder: (folder / "config.json").unlink(), InputError, "no config.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), InputError, "no weights"),
    ],
)
def test_a_bad_source_writes_nothing_and_loses_nothing(
    tmp_path: Path, folder: Path, spoil: object, kind: type[GreffeError], match: str
) -> None:
    kept = _import(folder, tmp_path / "kept")
    before = kept.manifest()
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(kind, match=match):
        _import(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(kind, match=match):
        import_base(folder, Output(out=kept.path, overwrite=True))
    assert kept.manifest() == before
    check_recipe(kept)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is nothing at"):
        _import(tmp_path / "none", tmp_path / "run")


def test_a_file_of_another_kind(tmp_path: Path, tiny_bert: Path) -> None:
    with pytest.raises(InputError, match="cannot be imported") as caught:
        _import(tiny_bert / "model.safetensors", tmp_path / "run")
    assert "give the folder" in (caught.value.hint or "")
    assert not (tmp_path / "run").exists()


# --- the lab's checkpoint -------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path: Path, tiny_tokenizer: Tokenizer) -> Path:
    """A file with the lab's names and shapes, of one layer and with a small vocabulary."""
    width, vocab = 200, tiny_tokenizer.size
    layer = torch.nn.TransformerEncoderLayer(width, 2, width)
    tensors = {"encoder.weight": torch.randn(vocab, width)}
    for name, tensor in layer.state_dict().items():
        tensors[f"transformer_encoder.layers.0.{name}"] = tensor
    state = {f"base.{name}": tensor for name, tensor in tensors.items()}
    head = {"classifier.decoder.weight": torch.zeros(vocab, width)}
    head["classifier.decoder.bias"] = torch.zeros(vocab)
    torch.save({**state, **head}, tmp_path / "pretrained_model_1layers.pt")
    return tmp_path / "pretrained_model_1layers.pt"


def test_the_lab_s_checkpoint_with_its_tokenizer(
    tmp_path: Path, checkpoint: Path, tiny_tokenizer: Tokenizer
) -> None:
    tiny_tokenizer.save(tmp_path / "tokenizer.json")
    options = TokenizerOptions(tokenizer=tmp_path / "tokenizer.json")
    run = _import(checkpoint, tmp_path / "run", tokenizer_options=options)
    manifest, recipe, lab = run.manifest(), run.recipe(), shipped_recipe("lab")
    assert recipe.name == "pretrained_model_1layers"
    assert recipe.finetune == lab.finetune
    assert set(manifest.heads) == {"next_token"}
    assert manifest.directions == ["causal"]
    assert generate_text(load_model(run), load_tokenizer(run), "Ce livre", tokens=3)


def test_the_lab_s_checkpoint_without_a_tokenizer(tmp_path: Path, checkpoint: Path) -> None:
    with pytest.raises(InputError, match="comes without a tokenizer"):
        _import(checkpoint, tmp_path / "run")
    with pytest.raises(InputError, match="comes without a tokenizer") as caught:
        open_base(checkpoint)
    assert "greffe import" in (caught.value.hint or "")


# --- tokenizers -----------------------------------------------------------------------------------


def test_another_folder_can_bring_the_tokenizer(
    tmp_path: Path, folder: Path, tiny_bert: Path
) -> None:
    (folder / "tokenizer.json").unlink()
    options = TokenizerOptions(tokenizer=tiny_bert)
    run = _import(folder, tmp_path / "run", tokenizer_options=options)
    expected = read_foreign_tokenizer(tiny_bert, run.manifest().vocab)
    assert load_tokenizer(run).fingerprint == expected.fingerprint


def test_a_tokenizer_of_another_size_is_refused(
    tmp_path: Path, folder: Path, fresh_run: object
) -> None:
    other: RunDirectory = fresh_run("other")  # type: ignore[operator]
    options = TokenizerOptions(tokenizer=other.path)
    with pytest.raises(RunError, match="does not match the embedding"):
        _import(folder, tmp_path / "run", tokenizer_options=options)
