"""Options that travel together, from the command line through the API to the pipelines.

The sentence under each field is the help text of its flag. Knows nothing of typer, torch or files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from greffe.config.bounds import Jobs, Seed, Trainings, Vocab
from greffe.config.option_groups import Flag, OptionGroup
from greffe.errors import RecipeError, quote

if TYPE_CHECKING:
    from greffe.config.recipe import Recipe
    from greffe.data.tokenizer import Tokenizer
    from greffe.pipelines.labelled import Examples
    from greffe.run import RunDirectory

Documents = Literal["line", "paragraph", "file"]
DeviceName = Literal["auto", "cpu", "cuda", "mps"]
PrecisionName = Literal["auto", "fp32", "bf16"]
InferencePrecision = Literal["auto", "fp32", "bf16", "int8"]
LongTexts = Literal["windows", "cut"]
"""How much of a text longer than the context is read: all of it in windows, or its beginning."""
TokenizerKind = Literal["bpe", "unigram"]
STUDY_SEEDS = 8


@dataclass(frozen=True, kw_only=True)
class Reading(OptionGroup):
    """How files are read."""

    documents: Documents = "line"
    """What counts as one document in a .txt file."""
    encoding: str = "utf-8"
    """Encoding of text files."""
    text_column: str | None = None
    """Column that holds the text."""
    label_column: str | None = None
    """Column that holds the label."""


@dataclass(frozen=True, kw_only=True)
class Output(OptionGroup):
    """Where results are written."""

    out: str | Path
    """Folder to write to."""
    overwrite: bool = False
    """Replace the results that the folder already holds."""
    resume: bool = False
    """Continue where an interrupted command stopped."""

    def __post_init__(self) -> None:
        """Raise an error if both flags are given: one keeps what the other removes."""
        if self.overwrite and self.resume:
            raise RecipeError(
                "--resume and --overwrite are mutually exclusive.",
                expected="--resume to continue, or --overwrite to start again",
                hint="leave out one of them",
            )


@dataclass(frozen=True, kw_only=True)
class Tables(OptionGroup):
    """Tables of labelled texts."""

    data: Examples
    """Labelled texts: .tsv, .csv, .jsonl or .parquet."""
    valid: Examples | None = None
    """Labelled texts for choosing the best epoch; by default a part of the data is held out."""
    test: Examples | None = None
    """Labelled texts that nothing is chosen on; by default a part of the data is held out."""
    aux_data: Sequence[Examples] = ()
    """Auxiliary data: similar texts with the same labels, used for training too. Repeatable."""


@dataclass(frozen=True, kw_only=True)
class TokenizerOptions(OptionGroup):
    """Which tokenizer is used, or how a new one is trained."""

    vocab: Vocab | None = None
    """Vocabulary size of a newly trained tokenizer; default: 16,000, or the recipe's."""
    tokenizer_kind: Annotated[TokenizerKind, Flag("--kind")] = "bpe"
    """Algorithm that trains a new tokenizer."""
    new_vocab: Vocab | None = None
    """With --from: transfer the weights to a new vocabulary of this size, made for this text."""
    tokenizer: str | Path | Tokenizer | None = None
    """Tokenizer to use: a run, a corpus, greffe-fr, a tokenizer.json or a SentencePiece .model."""
    dictionary: str | Path | None = None
    """The fairseq dict.txt that belongs to a SentencePiece .model."""
    lowercase: bool = False
    """Train a tokenizer that lowercases all text."""


@dataclass(frozen=True, kw_only=True)
class Training(OptionGroup):
    """What is trained, for how long, and from which random seed."""

    recipe: str | Path | Recipe | None = None
    """Recipe: tiny, small, lab, a family such as bert; for fine-tuning also intermediate, target;
    or a TOML file."""
    objective: str | None = None
    """What is learned, such as masked, causal, hybrid or document; default: the recipe's."""
    budget: str | None = None
    """How long to train: 20m, 1h30m, 2000steps, 3epochs, 50Mtokens."""
    seed: Seed | None = None
    """Random seed of the weights, the order of texts and the masking."""
    soup: Trainings | None = None
    """Number of fine-tunings whose weights are averaged; default: the recipe's, 1 with a budget."""
    jobs: Jobs | None = None
    """Trainings side by side, each in its own process; default: one per core for small models."""
    device: DeviceName | None = None
    """Where to compute: auto, cpu, cuda or mps; default: the recipe's, auto."""
    precision: PrecisionName | None = None
    """Precision of matrix products: auto, fp32 or bf16; default: the recipe's, auto."""
    changes: Annotated[Sequence[str], Flag("--set")] = ()
    """Change any value of the recipe, as in --set train.lr=3e-4. Repeatable."""
    show_tensors: bool = False
    """List what happens to each of the parent's tensors."""
    track: Annotated[str | Sequence[str], Flag(words=list[str])] = ()
    """Show the training in a tracker: tensorboard, mlflow or wandb. Repeatable."""

    def flag_changes(self) -> list[str]:
        """Return the flags as changes of a recipe's [train], which come before --set."""
        given = {
            "train.budget": None if self.budget is None else repr(self.budget),
            "seed": self.seed,
            "train.soup": self.soup,
            "train.device": self.device,
            "train.precision": self.precision,
        }
        return [f"{key}={value}" for key, value in given.items() if value is not None]


@dataclass(frozen=True, kw_only=True)
class Computing(OptionGroup):
    """Where a model computes, and how."""

    device: DeviceName = "auto"
    """Where to compute: cpu, cuda or mps; auto: on a GPU if there is one."""
    precision: PrecisionName = "auto"
    """Precision of matrix products: fp32 or bf16; auto: the faster, measured if there is much."""


@dataclass(frozen=True, kw_only=True)
class Labelling(OptionGroup):
    """Where a model that labels texts computes, and how."""

    device: DeviceName = "auto"
    """Where to compute: cpu, cuda or mps; auto: on a GPU if there is one."""
    precision: InferencePrecision = "auto"
    """Precision: fp32, bf16 or int8; auto: fp32 or bf16, the faster, measured if there is much."""


def parse_arms(words: Sequence[str]) -> dict[str, Path]:
    """Read `name=RUN` pairs."""
    arms: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not name or not path or name in arms:
            raise RecipeError(
                f"--arm {quote(word)} cannot be read.",
                expected="a name that is not used yet and a run: --arm causal=runs/causal",
            )
        arms[name] = Path(path)
    return arms


def parse_label_counts(text: str) -> list[int]:
    """Read `50,100,all` as numbers; all labels are always used too."""
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if word != "all" and not re.fullmatch("[0-9]{1,9}", word)]
    if wrong:
        raise RecipeError(
            f"--labels {quote(text)} cannot be read.",
            expected="numbers separated by commas, such as 50,100,200,all",
            found=", ".join(map(quote, wrong[:10])),
        )
    return [int(word) for word in words if word != "all"]


@dataclass(frozen=True, kw_only=True)
class Comparison(OptionGroup):
    """What a study compares."""

    arms: Annotated[
        Mapping[str, str | Path | RunDirectory] | None,
        Flag("--arm", words=list[str], parse=parse_arms),
    ] = None
    """One more base to compare, as name=RUN; a source such as hf:owner/name too. Repeatable."""
    feature_runs: Annotated[Sequence[str | Path | RunDirectory], Flag("--features-from")] = ()
    """A run that labels texts; its class scores become features of one more arm. Repeatable."""
    frozen: bool = False
    """Add an arm with the base frozen: a linear probe."""
    seeds: Trainings | Sequence[Seed] = STUDY_SEEDS
    """Number of trainings per arm."""
    labels: Annotated[Sequence[int], Flag(words=str, parse=parse_label_counts)] = ()
    """Also train on fewer labels, as in 50,100,200,all."""
    keep_runs: bool = False
    """Keep the weights of every training."""
