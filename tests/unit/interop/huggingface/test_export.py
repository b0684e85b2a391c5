"""What an exported folder says about itself, and which runs cannot be exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.interop.huggingface.exported import export, shape_of, write_run

from greffe.data.tokenizer import Tokenizer
from greffe.errors import RunError
from greffe.interop.huggingface.export import write_huggingface
from greffe.model.tensor_header import read_header
from greffe.run import Imported, RunDirectory
from greffe.storage import write_json

pytestmark = pytest.mark.usefixtures("unsynced")


def front_matter(folder: Path) -> list[str]:
    lines = (folder / "README.md").read_text("utf-8").split("\n")
    assert lines[0] == "---"
    return lines[1 : lines.index("---", 1)]


def test_the_card_of_a_classifier(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    labels = ["bad *", "good"]
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("bert"), [], labels=labels)
    export(run, tmp_path / "folder")
    assert front_matter(tmp_path / "folder") == [
        "library_name: transformers",
        "pipeline_tag: text-classification",
        "tags:",
        "- greffe",
        "- bert",
    ]
    card = (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert "Its classes: bad \\*, good." in card
    assert 'AutoModelForSequenceClassification.from_pretrained("FOLDER", trust_remote_code' in card
    assert "its code is in the folder" in card
    assert "- It reads at most 32 tokens: pass `truncation=True`" in card
    assert "`<mask>` means that token; in greffe it is text." in card


def test_the_card_of_a_causal_model(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("gpt2"), ["next_token"], ["causal"])
    manifest = run.manifest()
    source = Imported(source="hf:owner/name@v1", parameters=3)
    lineage = manifest.lineage.model_copy(update={"parent": "/home/someone/private/base"})
    run.write_manifest(manifest.model_copy(update={"imported": source, "lineage": lineage}))
    export(run, tmp_path / "folder")
    matter = front_matter(tmp_path / "folder")
    assert "pipeline_tag: text-generation" in matter
    assert 'base_model: "owner/name"' in matter
    card = (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert "trust_remote_code=True" not in card
    assert "The tokenizer puts `<eos>` after a text." in card
    assert "/home/someone" not in card and "| parent | base |" in card


def test_the_shipped_base_has_the_license_of_the_package(tmp_path: Path) -> None:
    written = export(RunDirectory.open("greffe-fr"), tmp_path / "folder")
    assert written.needs_remote_code
    assert "license: apache-2.0" in front_matter(tmp_path / "folder")
    config = json.loads((tmp_path / "folder" / "config.json").read_text())
    assert "AutoModelForMaskedLM" in (tmp_path / "folder" / "README.md").read_text("utf-8")
    assert config["architectures"] == ["GreffeForCausalLM", "GreffeForMaskedLM"]
    shapes = read_header(tmp_path / "folder" / "model.safetensors").shapes
    assert shapes["base.embedding.weight"] == (20_000, 320)


def test_linear_runs_and_ensembles_are_refused(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("bert"), [], labels=["a", "b"])
    fields = run.manifest().model_dump(mode="json")
    write_json(run.path / "run.json", {**fields, "kind": "linear", "heads": {}})
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="cannot be written in Hugging Face format") as caught:
        write_huggingface(run, tmp_path / "folder")
    assert "--format onnx" in (caught.value.hint or "")
    assert not list((tmp_path / "folder").iterdir())


def test_a_run_in_training_is_refused(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("bert"), ["masked_token"])
    run.write_manifest(run.manifest().model_copy(update={"status": "training"}))
    with pytest.raises(RunError, match="is not finished"):
        write_huggingface(run, tmp_path)
