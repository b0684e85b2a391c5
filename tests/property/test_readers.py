"""Whatever a file or a text holds: a value of its type, or the one error of its reader."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.builders import study_document

from greffe.baselines.linear_classifier import LinearSettings
from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.spans import Span
from greffe.data.corpus import CorpusRequest
from greffe.errors import CorruptError, RecipeError
from greffe.model.heads.classification_head import ClassificationHead
from greffe.parsing import ParseError, parse_json, parse_toml
from greffe.pipelines.prepare_state import PrepareState
from greffe.run import Manifest, RunDirectory, new_lineage
from greffe.storage import read_model, write_json
from greffe.study.folder import CellFile, CellResult, StudyManifest
from greffe.training.checkpoint import TrainingState

Json = Any
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["classification", "causal", "finished", "..", "/", "a" * 300]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
EXAMPLES: list[BaseModel] = [
    Manifest(
        kind="classifier",
        status="finished",
        vocab=300,
        heads={"classification": ClassificationHead(classes=2)},
        directions=["bidirectional"],
        labels=["bad", "good"],
        direction="bidirectional",
        lineage=new_lineage(
            threads=1, initial_base="ab", tokenizer="cd", data={"train": "ef"}, sizes={"train": "2"}
        ),
        weights="01",
        result={"steps": 3, "accuracy": 0.5},
    ),
    TrainingState(step=3, best_step=2, best_hash="ab", last_evaluation={"loss": 1.5}),
    StudyManifest(status="running", cells=["scratch-all-1"], settings={"seeds": 2}),
    CellFile(
        key="ab",
        result=CellResult(probabilities=[[0.5, 0.5]], validation=0.5, seconds=1.0),
    ),
    PrepareState(
        request=CorpusRequest(
            sources=[{"name": "a.txt"}], options={}, valid=0.1, seed=0, tokenizer="t", shard_bytes=9
        )
    ),
    LinearSettings(
        classes=2, texts=4, c=1.0, base_weight=None, log_loss=0.5, accuracy=0.5, base_columns=0
    ),
    study_document(),
]


@st.composite
def changed(draw: st.DrawFn, tree: Json) -> Json:
    """Return a copy of a tree in which up to three values are replaced, removed or added."""
    tree = json.loads(json.dumps(tree))
    for _ in range(draw(st.integers(1, 3))):
        parent, key = tree, draw(st.sampled_from(sorted(tree)))
        while isinstance(parent[key], dict | list) and parent[key] and draw(st.booleans()):
            parent = parent[key]
            keys = sorted(parent) if isinstance(parent, dict) else range(len(parent))
            key = draw(st.sampled_from(keys))
        match draw(st.sampled_from(["replace", "replace", "remove", "add"])):
            case "replace":
                parent[key] = draw(VALUES)
            case "remove":
                del parent[key]
            case "add" if isinstance(parent, dict):
                parent[draw(st.text(max_size=8))] = draw(VALUES)
            case "add":
                parent.append(draw(VALUES))
        if not tree:
            return tree
    return tree


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_a_file_is_a_value_of_its_type_or_one_error(example: BaseModel) -> None:
    kind, tree = type(example), example.model_dump(mode="json")

    @settings(deadline=None, max_examples=60)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        value = data.draw(changed(tree))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file.json"
            path.write_text(json.dumps(value))
            try:
                found = read_model(kind, path, "a file")
            except CorruptError as error:
                assert str(path) in error.message
                return
            # What is accepted can be written, and is the same when it is read again.
            write_json(path, found.model_dump(mode="json"))
            assert read_model(kind, path, "a file") == found

    check()


@settings(deadline=None)
@given(changed(Recipe().model_dump(mode="json")))
def test_a_recipe_is_valid_or_one_error(tree: Json) -> None:
    try:
        recipe = recipe_from_dict(tree, "recipe")
    except RecipeError as error:
        assert error.message
        return
    assert recipe_from_dict(parse_toml(recipe.to_toml()), "recipe") == recipe


@settings(deadline=None)
@given(st.lists(st.text(max_size=30) | st.from_regex(r"[a-z_.]{1,20}=.{0,20}"), max_size=3))
def test_changes_are_applied_or_refused(changes: list[str]) -> None:
    try:
        assert isinstance(Recipe().with_changes(changes), Recipe)
    except RecipeError as error:
        assert error.message


@given(st.text(max_size=30) | st.from_regex(r"[0-9.]{1,40}[kMG]?(steps|epochs|tokens|%|m|h|s)"))
def test_a_span_is_finite_or_refused(text: str) -> None:
    try:
        assert 0 < Span.parse(text).amount < 1e20
    except RecipeError as error:
        assert error.message


@pytest.mark.parametrize("parse", [parse_json, lambda text: parse_toml(str(text))])
@given(text=st.text() | VALUES.map(json.dumps))
def test_a_text_is_parsed_or_refused(parse: Callable[[str], Any], text: str) -> None:
    try:
        parse(text)
    except ParseError as error:
        assert len(str(error)) <= 200


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40) | VALUES.map(lambda value: json.dumps(value).encode())))
def test_a_log_is_read_whatever_its_lines_are(lines: list[bytes]) -> None:
    good = {"step": 1, "kind": "train", "loss": 2.0}
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory(folder)
        run.log(**good)
        with (run.path / "metrics.jsonl").open("ab") as file:
            file.write(b"\n".join(lines))
        run.rewind_metrics(1)
        run.log(step=2, kind="train")
        found = list(run.metrics())
    assert found[0] == good
    assert found[-1] == {"step": 2, "kind": "train"}
