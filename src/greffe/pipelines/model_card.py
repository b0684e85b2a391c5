"""Model card: the README.md of a finished run, written from its recipe and its manifest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from greffe.display import markdown_code, markdown_text
from greffe.model.tensor_header import read_header
from greffe.output_folder import CARD_FILE, CARD_MARK, is_users_card
from greffe.run import Manifest, RunDirectory
from greffe.storage import write_atomic

PREDICT = """```console
$ greffe predict RUN "A text to label."
$ greffe evaluate RUN --data my_labels.tsv
```

```python
import greffe

run = greffe.load("RUN")
run.predict(["A text to label."])
```"""
METRIC_NAMES = {
    "macro_f1": "macro F1",
    "c": "C",
    "restarted_lr": "learning rate after restarts",
    "collapsed": "collapsed trainings",
}
GENERATE = '$ greffe generate RUN "The beginning of a text"\n'
FILL = '$ greffe fill RUN "A text with a <mask>."\n'
PRETRAINED = """```console
{commands}$ greffe finetune --from RUN --data my_labels.tsv --out runs/classifier
```

```python
import greffe

run = greffe.load("RUN")
classifier = greffe.finetune(run, data="my_labels.tsv", out="runs/classifier")
```"""


def write_model_card(run: RunDirectory) -> None:
    """Write the card of a finished run, unless the user has put a README.md of their own there."""
    path = run.path / CARD_FILE
    if not is_users_card(path):
        # Names of folders need not be valid Unicode.
        write_atomic(path, model_card(run).encode("utf-8", "replace"))


def model_card(run: RunDirectory) -> str:
    """Return what a run is, how to use it, its data, results and lineage, as Markdown."""
    manifest = run.manifest()
    results = _results(manifest)
    sections = [
        CARD_MARK,
        f"# {markdown_text(_title(run, manifest))}",
        summary(run),
        "## Usage",
        "`RUN` is the path of this folder.",
        _usage(manifest),
        "## Data",
        _data(manifest),
        *(["## Results", table(("metric", "value"), results)] if results else []),
        "## Lineage",
        table(("", ""), _lineage(manifest)),
    ]
    return "\n\n".join(sections) + "\n"


def _title(run: RunDirectory, manifest: Manifest) -> str:
    # The folder of a base in the cache of imports has no name that says anything.
    return run.recipe().name if manifest.imported else run.path.resolve().name


def summary(run: RunDirectory, shown: Callable[[str], str] = str) -> str:
    """Return what a run is, in a few sentences of Markdown.

    `shown` changes the names of other runs and sources, which may be folders of this machine.
    """
    manifest = run.manifest()
    if manifest.kind == "linear":
        return f"{_linear_kind(manifest, shown)} {_classes(manifest)}"
    recipe = run.recipe()
    size = (
        f"{recipe.model.layers} transformer layers of width {recipe.model.width}, "
        f"{_parameters(run):,} parameters, a vocabulary of {manifest.vocab:,} pieces, "
        f"a context of {recipe.model.context} tokens"
    )
    if manifest.kind == "language-model":
        reads = " and ".join(manifest.directions)
        objective = recipe.objective.kind
        origin = (
            f" It was imported from {markdown_text(shown(manifest.imported.source))}, which says "
            "how it was trained and under which terms it may be used."
            if manifest.imported
            else ""
        )
        return f"A language model with {size}; objective {objective}, attention {reads}.{origin}"
    return f"A text classifier with {size}; attention {manifest.direction}. {_classes(manifest)}"


def _linear_kind(manifest: Manifest, shown: Callable[[str], str]) -> str:
    if "features" not in manifest.result:
        return f"An ensemble: the mean of {len(manifest.feature_runs)} runs."
    parts = ["TF-IDF"] if manifest.result.get("tfidf_features") else []
    parent = manifest.lineage.parent
    parts += [f"the features of {markdown_text(shown(parent))}"] if parent else []
    parts += ["the class scores of feature runs"] if manifest.feature_runs else []
    return f"A linear classifier on {' and '.join(parts)}."


def _classes(manifest: Manifest) -> str:
    labels = ", ".join(map(markdown_text, manifest.labels))
    return f"It predicts {len(manifest.labels)} classes: {labels}."


def _parameters(run: RunDirectory) -> int:
    """Return the number of weights, from the header of the file."""
    return sum(map(math.prod, read_header(run.weights_path).shapes.values()))


def _usage(manifest: Manifest) -> str:
    if manifest.kind != "language-model":
        return PREDICT
    commands = (GENERATE if "next_token" in manifest.heads else "") + (
        FILL if "masked_token" in manifest.heads else ""
    )
    return PRETRAINED.format(commands=commands)


def _data(manifest: Manifest) -> str:
    lineage = manifest.lineage
    if manifest.imported:
        return "See where it was imported from."
    if not lineage.data:
        return "The run was not trained on data of its own."
    sizes = dict(lineage.sizes)
    if "texts" in manifest.result:
        sizes["train"] = f"{manifest.result['texts']:,} texts"
    rows = [
        (markdown_text(name), markdown_text(sizes.get(name, "")), markdown_code(digest))
        for name, digest in lineage.data.items()
    ]
    return table(("part", "size", "SHA-256"), rows)


def _results(manifest: Manifest) -> list[tuple[str, str]]:
    return [
        (METRIC_NAMES.get(name, name.replace("_", " ")), _number(value))
        for name, value in manifest.result.items()
        if value is not None
    ]


def _number(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value}"


def _lineage(manifest: Manifest) -> list[tuple[str, str]]:
    lineage = manifest.lineage
    rows = [
        ("parent", markdown_text(lineage.parent or "none")),
        ("weights of the parent", lineage.parent_weights),
        ("revision of the parent", manifest.imported and manifest.imported.revision),
        ("vocabulary transfer", "yes" if lineage.vocabulary_transfer else None),
        ("base before training", lineage.initial_base),
        ("weights", manifest.weights),
        ("tokenizer", lineage.tokenizer),
        ("created", lineage.created),
        ("versions", ", ".join(f"{name} {number}" for name, number in lineage.versions.items())),
        ("threads", str(lineage.threads)),
        ("command", markdown_code(" ".join(lineage.command)) if lineage.command else None),
    ]
    return [(name, value) for name, value in rows if value]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
