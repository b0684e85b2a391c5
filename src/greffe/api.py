"""The public face in Python: the verbs as functions, and runs and studies as objects.

Options are plain keywords: `finetune("greffe-fr", data="train.tsv", out="runs/a", budget="5m")`;
`help(greffe.finetune)` lists them. The command line calls the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Unpack

from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_runs import load_linear, predict_linear
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import (
    Comparison,
    Output,
    Reading,
    Tables,
    TokenizerOptions,
    Training,
)
from greffe.config.sections import LongTexts
from greffe.data.corpus import Corpus
from greffe.data.overlap import check_corpora
from greffe.data.tokenizer import Tokenizer
from greffe.doctor.examine import examine
from greffe.doctor.finding import Finding, PartName
from greffe.errors import InputError, RecipeError, RunError
from greffe.evaluation.evaluate import evaluate_classifier, evaluate_predictions
from greffe.evaluation.metrics import Evaluation
from greffe.inference.fill import Filling
from greffe.inference.fill import fill as fill_masks
from greffe.inference.generate import Choices, generate_text, stream_text
from greffe.inference.predict import Prediction
from greffe.inference.predict import predict as predict_labels
from greffe.machine import guard_memory, memory_errors
from greffe.model.model import Model
from greffe.pipelines import ensemble as ensemble_pipeline
from greffe.pipelines import finetune as finetune_pipeline
from greffe.pipelines import linear as linear_pipeline
from greffe.pipelines import prepare as prepare_pipeline
from greffe.pipelines import pretrain as pretrain_pipeline
from greffe.pipelines.finetune_recipe import Start
from greffe.pipelines.intermediate import finetune_in_stages
from greffe.pipelines.labelled import Examples, data_hash, load_examples
from greffe.pipelines.provenance import lineage_of, trained_on
from greffe.progress import notice
from greffe.report.build import (
    HTML_FILE,
    check_report_folder,
    write_runs_report,
    write_study_report,
)
from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.verdict import Verdict, verdict
from greffe.run import RUN_FILE, RunDirectory, open_base, open_run
from greffe.study import runner
from greffe.study.arms import ArmOptions
from greffe.study.document import StudyDocument
from greffe.study.folder import STUDY_FILE, StudyDirectory
from greffe.study.plan import StudyRequest
from greffe.study.run_document import run_document
from greffe.training.checkpoint import (
    load_classification_tokenizer,
    load_model,
    load_tokenizer,
)

Inputs = str | Path | Sequence[str | Path]
AnyRun = str | Path | RunDirectory
"""A run's folder, the name of a shipped base, or a run that is already open."""
TextReading = Annotated[Reading, Without("label_column")]
TableReading = Annotated[Reading, Without("documents")]


# --- runs ---------------------------------------------------------------------------------------


class Run(RunDirectory):
    """One run on disk with its model, which is loaded when it is first needed."""

    @cached_property
    @memory_errors()
    def model(self) -> Model:
        """Base and heads with the run's weights."""
        self.require_base()
        return load_model(self)

    @cached_property
    @memory_errors()
    def linear(self) -> LinearClassifier:
        """The classifier of a linear run or an ensemble."""
        return load_linear(self)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the weights were trained with."""
        self.require_base()
        return load_tokenizer(self)

    @property
    def labels(self) -> list[str]:
        """The classes, in the order of the head's outputs; empty for a language model."""
        return self.manifest().labels

    @memory_errors()
    def predict(self, texts: Iterable[str], *, long: LongTexts = "windows") -> list[Prediction]:
        """Return a label and probabilities for each text; a single text gives a list of one."""
        several = [texts] if isinstance(texts, str) else texts
        return list(self.stream_predictions(several, long=long))

    def stream_predictions(
        self, texts: Iterable[str], *, long: LongTexts = "windows"
    ) -> Iterator[Prediction]:
        """Yield predictions one by one, for more texts than fit into memory."""
        if self.manifest().kind == "linear":
            if long != "windows":
                raise InputError(
                    "A linear model reads the whole text: --long has no effect on it.",
                    hint="leave it out",
                )
            return guard_memory(predict_linear(self.linear, self.labels, texts))
        predictions = predict_labels(
            self.model,
            self.tokenizer,
            self.labels,
            texts,
            causal=self._reads_causally(),
            long=long,
        )
        return guard_memory(predictions)

    @memory_errors()
    @flat_keywords
    def evaluate(
        self, data: Examples, *, reading: TableReading, long: LongTexts = "windows"
    ) -> Evaluation:
        """Return accuracy and other metrics on labelled texts that the run was not trained on."""
        examples = load_examples(data, reading)
        digest = data_hash(examples)
        if any(trained_on(run, [digest]) for run in lineage_of(self)):
            notice("the run was trained on these texts: scores will be optimistic")
        if self.manifest().kind == "linear":
            texts = (example.text for example in examples)
            predictions = self.stream_predictions(texts, long=long)
            return evaluate_predictions(self.labels, examples, predictions)
        return evaluate_classifier(
            self.model,
            self.tokenizer,
            self.labels,
            examples,
            causal=self._reads_causally(),
            long=long,
        )

    @memory_errors()
    def generate(self, prompt: str = "", **choices: Unpack[Choices]) -> str:
        """Return the prompt and its continuation."""
        return generate_text(self.model, self.tokenizer, prompt, **choices)

    def stream(self, prompt: str = "", **choices: Unpack[Choices]) -> Iterator[str]:
        """Yield the prompt and its continuation piece by piece."""
        return guard_memory(stream_text(self.model, self.tokenizer, prompt, **choices))

    @memory_errors()
    def fill(self, text: str, *, top: int = 5) -> list[list[Filling]]:
        """Return the most likely words for each `<mask>` in the text."""
        return fill_masks(self.model, self.tokenizer, text, top=top)

    def _reads_causally(self) -> bool:
        return self.manifest().direction == "causal"


def load(path: str | Path) -> Run:
    """Open the run in a folder, or a shipped base by its name, such as `greffe-fr`."""
    return Run.open(path)


@memory_errors()
@flat_keywords
def prepare(
    inputs: Inputs,
    output: Output,
    *,
    tokenizer_options: Annotated[TokenizerOptions, Without("new_vocab")],
    valid: float = 0.01,
    reading: TextReading,
    workers: int = 0,
    seed: int = 0,
) -> Corpus:
    """Turn text into token shards: drop duplicates, hold out a part, use all cores."""
    return prepare_pipeline.prepare(
        inputs,
        output,
        tokenizer_options=tokenizer_options,
        valid=valid,
        reading=reading,
        workers=workers,
        seed=seed,
    )


@memory_errors()
@flat_keywords
def pretrain(
    corpus: Inputs,
    output: Output,
    *,
    from_: AnyRun | None = None,
    training: Annotated[Training, Without("soup", "jobs")],
    tokenizer_options: Annotated[TokenizerOptions, Without("tokenizer_kind")],
    reading: TextReading,
    valid: float = 0.01,
) -> Run:
    """Train a language model on a prepared corpus or on raw text; `from_` continues another run.

    With `new_vocab`, the other run's weights are transferred to a vocabulary made for this text.
    """
    run = pretrain_pipeline.pretrain(
        corpus,
        output,
        parent=None if from_ is None else open_base(from_),
        training=training,
        tokenizer_options=tokenizer_options,
        reading=reading,
        valid=valid,
    )
    return Run.open(run.path)


@memory_errors()
@flat_keywords
def finetune(
    base: AnyRun | None = None,
    *,
    tables: Annotated[Tables, Without("test")],
    output: Output,
    scratch: bool = False,
    like: AnyRun | None = None,
    training: Annotated[Training, Without("objective")],
    reading: TableReading,
    new_head: bool = False,
) -> Run:
    """Train a classifier on a base; with `scratch`, on fresh weights in the shape of `like`.

    With `aux_data`, fine-tune on the auxiliary labels first, then on `data`.
    """
    _check_base(base, like, scratch=scratch)
    start = Start(
        parent=None if base is None else open_base(base),
        like=None if like is None else open_base(like),
        new_head=new_head,
    )
    pipeline = finetune_in_stages if tables.aux_data else finetune_pipeline.finetune
    run = pipeline(tables, output, start=start, training=training, reading=reading)
    return Run.open(run.path)


def _check_base(base: AnyRun | None, like: AnyRun | None, *, scratch: bool) -> None:
    if scratch and base is not None:
        raise RecipeError(
            "--from and --scratch are mutually exclusive.",
            expected="--from RUN, or --scratch --like RUN",
            hint="for the same architecture with fresh weights: --scratch --like RUN",
        )
    if base is not None and like is not None:
        raise RecipeError(
            "--like has no effect with --from: the architecture is the parent's.",
            hint="for fresh weights: --scratch --like RUN",
        )
    if not scratch and base is None:
        raise RecipeError(
            "There is no base to fine-tune.",
            expected="--from RUN, or --scratch with --like RUN or --recipe NAME",
        )


@memory_errors()
@flat_keywords
def linear(
    tables: Annotated[Tables, Without("valid", "test")],
    output: Annotated[Output, Without("resume")],
    *,
    base: AnyRun | None = None,
    feature_runs: Sequence[AnyRun] = (),
    tfidf: bool = True,
    seed: int = 0,
    reading: TableReading,
) -> Run:
    """Fit a linear classifier on TF-IDF, a base's features and the class scores of feature runs.

    With `aux_data`, it is trained on the auxiliary texts too.
    """
    run = linear_pipeline.linear(
        tables,
        output,
        parent=None if base is None else open_base(base),
        feature_runs=[open_run(feature_run) for feature_run in feature_runs],
        tfidf=tfidf,
        seed=seed,
        reading=reading,
    )
    return Run.open(run.path)


@memory_errors()
@flat_keywords
def ensemble(runs: Sequence[AnyRun], output: Annotated[Output, Without("resume")]) -> Run:
    """Combine runs with the same classes into one that averages their probabilities."""
    run = ensemble_pipeline.ensemble([open_run(run) for run in runs], output)
    return Run.open(run.path)


# --- studies ------------------------------------------------------------------------------------


class Study(StudyDirectory):
    """A study on disk; its document is read when it is first needed."""

    @cached_property
    def results(self) -> StudyDocument:
        """All results: the content of report.json."""
        return self.document()

    @property
    def verdict(self) -> str:
        """The conclusion in plain words."""
        found = self.verdict_in("en")
        return " ".join([found.headline, *found.sentences])

    def verdict_in(self, language: Language) -> Verdict:
        """Return the conclusion in a language, sentence by sentence."""
        return verdict(self.results, load_catalog(language))

    @property
    def report(self) -> Path:
        """The report, to be opened in a browser."""
        return self.path / HTML_FILE


@memory_errors()
@flat_keywords
def compare(
    base: AnyRun,
    *,
    tables: Tables,
    output: Annotated[Output, Without("resume")],
    comparison: Comparison,
    training: Annotated[Training, Without("objective", "seed", "soup", "show_tensors")],
    corpus: Sequence[str | Path] = (),
    reading: Reading,
    language: Language = "en",
) -> Study:
    """Compare a pretrained base with the same model from scratch and with baselines.

    Every arm is trained with the same seeds; the result is a study with statistics and a report.
    The same call resumes an interrupted study and reuses what is done. `feature_runs` and
    `aux_data` add an arm each; `corpus` is searched for the test texts.
    """
    load_catalog(language)  # an unknown language is an error before the work
    request = StudyRequest(
        arms=ArmOptions(
            base=open_base(base),
            others={name: open_base(run) for name, run in (comparison.arms or {}).items()},
            frozen=comparison.frozen,
            feature_runs=[open_run(run) for run in comparison.feature_runs],
        ),
        tables=tables,
        corpus=corpus,
        reading=reading,
        seeds=comparison.seeds,
        labels=comparison.labels,
        training=training,
        keep_runs=comparison.keep_runs,
    )
    study = runner.compare(request, output.out, overwrite=output.overwrite)
    write_study_report(study.document(), study.path, language=language)
    return Study.open(study.path)


@memory_errors()
def report(
    paths: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    language: Language = "en",
) -> Path:
    """Rebuild the report from what is on disk: of one study, or of runs side by side."""
    load_catalog(language)  # an unknown language is an error before the work
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    studies = [path for path in several if StudyDirectory(path).is_study]
    if not studies:
        runs = [_run_to_show(path) for path in several]
        if out is None and runs[0].is_shipped:
            raise InputError(
                f"{runs[0].name} is part of the package, where no report is written.",
                expected="a folder for the report",
                hint="--out FOLDER",
            )
        folder = Path(out) if out is not None else runs[0].path
        check_report_folder(folder)
        return write_runs_report([run_document(run) for run in runs], folder, language=language)
    if len(several) > 1:
        raise InputError(
            "A report is about one study, or about runs.",
            expected="one study, or one or more runs",
            found=f"{len(studies)} studies and {len(several) - len(studies)} runs",
            hint="build the reports one by one",
        )
    study = StudyDirectory.open(several[0])
    folder = Path(out) if out is not None else study.path
    check_report_folder(folder, study)
    return write_study_report(study.document(), folder, language=language)


def _run_to_show(path: str | Path) -> RunDirectory:
    if Path(path).is_dir() and not (Path(path) / RUN_FILE).exists():
        raise RunError(
            f"{path} is neither a study nor a run.",
            expected=f"a folder with {STUDY_FILE}, as greffe compare writes it, or with {RUN_FILE}",
            found="a folder without them",
        )
    return RunDirectory.open(path)


@memory_errors()
@flat_keywords
def doctor(
    tables: Annotated[Tables, Without("aux_data")],
    *,
    corpus: Sequence[str | Path] = (),
    run: AnyRun | None = None,
    reading: Reading,
) -> list[Finding]:
    """Check labelled data for problems before training on it; serious findings come first."""
    given: dict[PartName, Examples | None] = {
        "train": tables.data,
        "valid": tables.valid,
        "test": tables.test,
    }
    opened = None if run is None else open_base(run)
    check_corpora(corpus, reading)
    return examine(
        {name: load_examples(part, reading) for name, part in given.items() if part is not None},
        tokenizer=None if opened is None else load_classification_tokenizer(opened),
        context=None if opened is None else opened.recipe().model.context,
        corpus=corpus,
        options=reading,
    )
