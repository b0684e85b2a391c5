"""Options that several verbs share, each with its help in one place."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from greffe.config.options import Reading


class DocumentUnit(StrEnum):
    """What one document of a .txt file is."""

    line = "line"
    paragraph = "paragraph"
    file = "file"


class LongTexts(StrEnum):
    """What happens to texts that are longer than the context."""

    windows = "windows"
    cut = "cut"


class TokenizerKind(StrEnum):
    """How a tokenizer is trained."""

    bpe = "bpe"
    unigram = "unigram"


class Objective(StrEnum):
    """What pretraining learns."""

    causal = "causal"
    masked = "masked"
    next_sentence = "next_sentence"
    hybrid = "hybrid"


class Language(StrEnum):
    """What a report is written in."""

    en = "en"
    fr = "fr"


Data = Annotated[Path, typer.Option("--data", help="Labelled texts: .tsv .csv .jsonl .parquet.")]
ValidTable = Annotated[
    Path | None, typer.Option("--valid", help="Labelled texts that choose the best epoch.")
]
TestTable = Annotated[
    Path | None, typer.Option("--test", help="Labelled texts that nothing is chosen on.")
]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Start anew where --out already holds a run.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")]
FeatureRuns = Annotated[
    list[Path] | None,
    typer.Option(
        "--features-from",
        help="A run that labels texts already; what it says of each becomes features. "
        "Again for more.",
    ),
]
AuxData = Annotated[
    list[Path] | None,
    typer.Option(
        help="Labelled texts of others, with the same labels, learnt from too. Repeatable."
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(help="How long: 20m, 1h30m, 2000steps, 3epochs, 50Mtokens."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Weights, order and corruption follow from it.")
]
Members = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Fine-tunings from the same start whose weights are averaged; "
        "the recipe's number if not given, one beside --budget.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change any choice of the recipe: --set train.lr=3e-4. Repeatable."),
]
RecipeName = Annotated[
    str | None,
    typer.Option(
        "--recipe", help="lab, small, tiny; for finetune also teach, graft; or a TOML file."
    ),
]
Documents = Annotated[DocumentUnit, typer.Option(help="What one document of a .txt file is.")]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
TextColumn = Annotated[str | None, typer.Option(help="Column that holds the text.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column that holds the label.")]
TokenizerPath = Annotated[
    Path | None,
    typer.Option(
        "--tokenizer",
        help="Of a run, a corpus or greffe-fr; a tokenizer.json or SentencePiece .model.",
    ),
]
Dictionary = Annotated[
    Path | None, typer.Option(help="fairseq dict.txt beside a SentencePiece .model.")
]
Lowercase = Annotated[
    bool, typer.Option("--lowercase", help="A new tokenizer that reads all in small letters.")
]
Valid = Annotated[float, typer.Option("--valid", help="Share of documents held out.")]
Long = Annotated[
    LongTexts,
    typer.Option("--long", help="Texts longer than the context: read by windows, or cut."),
]
LanguageName = Annotated[Language, typer.Option("--language", help="Language of the report.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read_options(
    *,
    documents: DocumentUnit = DocumentUnit.line,
    encoding: str = "utf-8",
    text_column: str | None = None,
    label_column: str | None = None,
) -> Reading:
    """How files are read, from the flags."""
    from greffe.config.options import Reading

    return Reading(
        documents=documents.value,
        encoding=encoding,
        text_column=text_column,
        label_column=label_column,
    )
