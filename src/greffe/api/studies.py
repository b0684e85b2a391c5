"""Studies as objects, and the verbs compare, report and doctor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

from greffe.api.runs import AnyRun
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import Comparison, Output, Reading, Tables, Training
from greffe.data.overlap import check_corpora
from greffe.doctor.examine import examine
from greffe.doctor.finding import Finding, PartName
from greffe.errors import InputError, RunError
from greffe.machine import memory_errors
from greffe.pipelines.labelled import Examples, load_examples
from greffe.pipelines.sources import open_base
from greffe.report.build import (
    HTML_FILE,
    check_report_folder,
    write_runs_report,
    write_study_report,
)
from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.verdict import Verdict, verdict
from greffe.run import RUN_FILE, RunDirectory, open_run
from greffe.study import runner
from greffe.study.arms import ArmOptions
from greffe.study.document import StudyDocument
from greffe.study.folder import STUDY_FILE, StudyDirectory
from greffe.study.plan import StudyRequest
from greffe.study.run_document import run_document
from greffe.training.checkpoint import load_classification_tokenizer


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
    training: Annotated[Training, Without("objective", "seed", "soup", "show_tensors", "track")],
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
