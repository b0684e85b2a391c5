"""The README.md of a folder in Hugging Face format, with the front matter that the hub reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from greffe.config.families import NATIVE
from greffe.data.native_tokenizer import NativeTokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.display import markdown_code, markdown_text
from greffe.interop.huggingface.hub import HUB_PREFIX
from greffe.output_folder import CARD_MARK
from greffe.parsing import format_json
from greffe.run import Manifest, RunDirectory

TASKS = {
    "AutoModel": "feature-extraction",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForSequenceClassification": "text-classification",
}
PACKAGE_LICENSE = "apache-2.0"
"""Of the bases that ship with the package."""
LOADING = """```python
from transformers import {auto_class}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER"{trust})
model = {auto_class}.from_pretrained("FOLDER"{trust})
```"""


def exported_card(
    run: RunDirectory,
    tokenizer: Tokenizer,
    architecture: str,
    auto_class: str,
    *,
    needs_remote_code: bool,
) -> str:
    """Return the card: what the model is, how to load it, its results and where it comes from."""
    manifest = run.manifest()
    trust = ", trust_remote_code=True" if needs_remote_code else ""
    code = (
        "No class of transformers computes what this model computes: its code is in the folder, "
        "and `trust_remote_code=True` allows transformers to run it."
        if needs_remote_code
        else "It needs no code besides transformers: `trust_remote_code` is not necessary."
    )
    results = [
        (name.replace("_", " "), f"{value:,.4g}" if isinstance(value, float) else f"{value}")
        for name, value in manifest.result.items()
        if value is not None
    ]
    sections = [
        _front_matter(run, manifest, TASKS[auto_class]),
        CARD_MARK,
        f"# {markdown_text(run.path.resolve().name)}",
        _summary(run, manifest, architecture),
        LOADING.format(auto_class=auto_class, trust=trust),
        f"`FOLDER` is this folder, or its name on the hub. {code}",
        "\n".join(f"- {note}" for note in _notes(run, tokenizer, manifest)),
        *(["## Results", _table(("metric", "value"), results)] if results else []),
        "## Origin",
        _table(("", ""), _origin(manifest)),
    ]
    return "\n\n".join(sections) + "\n"


def _front_matter(run: RunDirectory, manifest: Manifest, task: str) -> str:
    family = run.recipe().model.family
    tags = ["greffe"] if family == NATIVE else ["greffe", family]
    lines = [
        "library_name: transformers",
        f"pipeline_tag: {task}",
        *([f"license: {PACKAGE_LICENSE}"] if run.is_shipped else []),
        *_base_model(manifest),
        "tags:",
        *(f"- {tag}" for tag in tags),
    ]
    return "\n".join(["---", *lines, "---"])


def _base_model(manifest: Manifest) -> list[str]:
    """Return the model of the hub that a run was imported from, as the hub links to it."""
    source = manifest.imported.source if manifest.imported else ""
    if not source.startswith(HUB_PREFIX):
        return []
    name = source.removeprefix(HUB_PREFIX).partition("@")[0]
    return [f"base_model: {format_json(name)}"]


def _summary(run: RunDirectory, manifest: Manifest, architecture: str) -> str:
    model = run.recipe().model
    size = (
        f"{model.layers} transformer layers of width {model.width}, a vocabulary of "
        f"{manifest.vocab:,} pieces, a context of {model.context} tokens"
    )
    if manifest.kind == "classifier":
        labels = ", ".join(map(markdown_text, manifest.labels))
        what = f"A text classifier with {size}. Its classes: {labels}."
    else:
        what = f"A language model with {size}."
    return f"{what} Class: `{architecture}`. Trained with greffe, weights in fp32."


def _notes(run: RunDirectory, tokenizer: Tokenizer, manifest: Manifest) -> list[str]:
    """Return what is not as in greffe, or not as one may expect of transformers."""
    context = run.recipe().model.context
    notes = [f"It reads at most {context} tokens: pass `truncation=True` to the tokenizer."]
    if manifest.kind == "classifier":
        notes[0] += " greffe reads longer texts in windows, whose probabilities it averages."
    if isinstance(tokenizer, NativeTokenizer):
        names = ", ".join(f"`{tokenizer.piece(id)}`" for id in tokenizer.specials)
        notes.append(f"A text that spells {names} means that token; in greffe it is text.")
    if "next_token" in manifest.heads and tokenizer.suffix:
        last = tokenizer.piece(tokenizer.suffix[-1])
        notes.append(
            f"The tokenizer puts `{last}` after a text. Remove it before the model continues one: "
            '`tokenizer(text, return_tensors="pt").input_ids[:, :-1]`.'
        )
    if {"next_token", "masked_token"} <= manifest.heads.keys():
        notes.append("`AutoModelForMaskedLM` loads its other head, which fills masks.")
    return notes


def _origin(manifest: Manifest) -> list[tuple[str, str]]:
    lineage = manifest.lineage
    parent = lineage.parent or "none"
    if not parent.startswith(HUB_PREFIX):  # local paths are nobody else's business
        parent = Path(parent).name
    versions = ", ".join(f"{name} {number}" for name, number in lineage.versions.items())
    data = [
        (f"data: {markdown_text(name)}", markdown_code(digest))
        for name, digest in lineage.data.items()
    ]
    return [
        ("parent", markdown_text(parent)),
        ("weights of the run", markdown_code(manifest.weights or "")),
        ("tokenizer of the run", markdown_code(lineage.tokenizer)),
        *data,
        ("created", lineage.created),
        ("versions", versions),
    ]


def _table(heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [heads, ("---", "---"), *rows]
    return "\n".join(f"| {first} | {second} |" for first, second in lines)
