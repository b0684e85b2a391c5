"""Small runs of any shape with random weights, and what transformers makes of their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence

from greffe.config.components import Direction, HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import ModelSpec, Pooler
from greffe.data.foreign_tokenizer_folder import read_foreign_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.interop.foreign_base import ForeignBase
from greffe.interop.huggingface.export import HuggingFaceExport, write_huggingface
from greffe.interop.huggingface.folder import read_folder
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model, build_model
from greffe.model.weights import base_hash, save_tensors
from greffe.run import Manifest, RunDirectory, new_lineage
from greffe.training.checkpoint import load_model, load_tokenizer, run_weights

transformers.utils.logging.disable_progress_bar()
TOLERANCE = 1e-4
SMALL = {"width": 24, "layers": 2, "heads": 4, "feed_forward": 40, "context": 32}
TEXTS = ["Ce livre est magnifique !", "Un roman.", "Le film était très long, hélas, et triste."]


def shape_of(recipe: str, **changes: Any) -> ModelSpec:
    """Return the model of a recipe, small and with these changes."""
    fields = load_recipe(recipe).model.model_dump(mode="json")
    return ModelSpec.model_validate({**fields, **SMALL, **changes})


def write_run(
    path: Path,
    tokenizer: Tokenizer,
    model: ModelSpec,
    heads: Sequence[str],
    directions: Sequence[Direction] = ("bidirectional",),
    labels: Sequence[str] = (),
    pooler: Pooler = "mean",
) -> RunDirectory:
    """Write a finished run in which every weight is random, norms and biases too."""
    specs: dict[str, HeadSpec] = {kind: HeadSpec.kinds()[kind].for_model(model) for kind in heads}
    if labels:
        specs["classification"] = ClassificationHead(classes=len(labels), pooler=pooler)
    drawn = build_model(model, tokenizer.size, specs, seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in drawn.named_parameters():
            is_scale = weight.ndim == 1 and name.endswith("weight")
            weight.copy_(0.2 * torch.randn(weight.shape, generator=generator) + is_scale)
    run = RunDirectory(path)
    run.path.mkdir(parents=True)
    run.write_recipe(Recipe(model=model).with_vocab(tokenizer.size))
    tokenizer.save(run.tokenizer_path)
    run.write_manifest(
        Manifest(
            kind="classifier" if labels else "language-model",
            status="finished",
            vocab=tokenizer.size,
            heads=specs,
            directions=list(directions),
            labels=list(labels),
            direction=directions[0] if labels else None,
            lineage=new_lineage(
                threads=1,
                initial_base=base_hash(drawn),
                tokenizer=tokenizer.fingerprint,
                data={"corpus": "ab" * 32},
            ),
            weights=save_tensors(run.weights_path, drawn.state_dict()),
        )
    )
    return run


def export(run: RunDirectory, folder: Path) -> HuggingFaceExport:
    """Write a run into a new folder."""
    folder.mkdir()
    written = write_huggingface(run, folder)
    assert sorted(written.files) == sorted(item.name for item in folder.iterdir())
    return written


def load(written: HuggingFaceExport, folder: Path, auto_class: str = "") -> Any:
    """Return the model as transformers loads it; nothing is missing or left over."""
    kind = getattr(transformers, auto_class or written.auto_class)
    trust = {"trust_remote_code": True} if written.needs_remote_code else {}
    model, loading = kind.from_pretrained(folder, output_loading_info=True, **trust)
    assert not loading["missing_keys"] and not loading["mismatched_keys"]
    if not auto_class:
        assert type(model).__name__ == written.architecture
        assert not loading["unexpected_keys"]
    assert model.dtype == torch.float32
    return model.eval()


@torch.inference_mode()
def check_outputs(
    run: RunDirectory, theirs: Any, head: str, *, causal: bool, own: Model | None = None
) -> Model:
    """Compare hidden states and logits of padded texts, and of rows as long as the context.

    Returns greffe's model, which may be given.
    """
    own, tokenizer = own or load_model(run), load_tokenizer(run)
    texts = [torch.from_numpy(tokenizer.wrap(tokenizer.encode(text))) for text in TEXTS]
    padded = pad_sequence(texts, batch_first=True, padding_value=tokenizer.pad)
    generator = torch.Generator().manual_seed(2)
    whole = torch.randint(5, own.vocab, (2, own.spec.context), generator=generator)
    for rows, lengths in (
        (padded, torch.tensor([len(text) for text in texts])),
        (whole, torch.full((2,), own.spec.context)),
    ):
        real = torch.arange(rows.shape[1]) < lengths[:, None]
        found = theirs(input_ids=rows, attention_mask=real.long(), output_hidden_states=True)
        hidden = own.base(rows, causal=causal, lengths=lengths)
        assert (hidden - found.hidden_states[-1])[real].abs().max() < TOLERANCE
        if head:
            differences = own.scores(hidden, head, lengths, rows) - found.logits
            chosen = differences if head == "classification" else differences[real]
            assert chosen.abs().max() < TOLERANCE
    return own


def check_import(run: RunDirectory, folder: Path, *, left: str = "nothing") -> ForeignBase:
    """Import an exported folder: the model and all weights but those that are left out."""
    again = read_folder(folder, lambda vocab: read_foreign_tokenizer(folder, vocab))
    model = run.recipe().model
    assert again.model.model_copy(update={"dropout": model.dropout}) == model
    weights, _ = run_weights(run)
    tensors = dict(again.tensors())
    assert tensors.keys() == {name for name in weights if left not in name}
    assert all(torch.equal(tensors[name], weights[name]) for name in tensors)
    return again
