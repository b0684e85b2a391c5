"""The public face of studies: compare, report, doctor, and a study that knows its verdict.

Knows the stages and the report, and nothing of the command line, which calls the same functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from greffe.config.options import STUDY_SEEDS, Reading, Tables, Training
from greffe.config.recipe import Recipe
from greffe.doctor.examine import examine
from greffe.doctor.finding import Finding, PartName
from greffe.errors import InputError, RunError
from greffe.pipelines.labelled import Examples, load_examples
from greffe.report.build import HTML_FILE, write_runs_report, write_study_report
from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.verdict import Verdict, verdict
from greffe.run import RUN_FILE, RunDirectory, open_base, open_run
from greffe.study import runner
from greffe.study.arms import AskedArms
from greffe.study.document import StudyDocument
from greffe.study.folder import STUDY_FILE, StudyDirectory
from greffe.study.request import StudyRequest
from greffe.study.run_document import run_document
from greffe.training.checkpoint import load_classification_tokenizer

Runs = Mapping[str, str | Path | RunDirectory]


class Study(StudyDirectory):
    """A study on disk; what it found is read when it is first needed."""

    @cached_property
    def found(self) -> StudyDocument:
        """All figures."""
        return self.document()

    @property
    def verdict(self) -> str:
        """What it comes to, in plain words."""
        found = self.verdict_in("en")
        return " ".join([found.headline, *found.sentences])

    def verdict_in(self, language: Language) -> Verdict:
        """The same in another language, sentence by sentence."""
        return verdict(self.found, load_catalog(language))

    @property
    def report(self) -> Path:
        """The page to be opened in a browser."""
        return self.path / HTML_FILE


def compare(
    base: str | Path | RunDirectory,
    *,
    data: Examples,
    out: str | Path,
    valid: Examples | None = None,
    test: Examples | None = None,
    arms: Runs | None = None,
    feature_runs: Sequence[str | Path | RunDirectory] = (),
    aux_data: Sequence[Examples] = (),
    frozen: bool = False,
    seeds: int | Sequence[int] = STUDY_SEEDS,
    labels: Sequence[int] = (),
    recipe: str | Path | Recipe | None = None,
    budget: str | None = None,
    changes: Sequence[str] = (),
    corpus: Sequence[str | Path] = (),
    options: Reading | None = None,
    language: Language = "en",
    keep_runs: bool = False,
    overwrite: bool = False,
) -> Study:
    """Was the pretraining worth it? Arms over paired seeds, baselines, statistics, a report.

    With teachers, runs that label texts already, one more arm has what they say as features; with
    `also`, labelled texts of others, one more learns from them beside the training texts.
    The same call goes on where an interrupted one stopped, and reuses what is already done.
    """
    request = StudyRequest(
        arms=AskedArms(
            base=open_base(base),
            others={name: open_base(run) for name, run in (arms or {}).items()},
            frozen=frozen,
            feature_runs=[open_run(feature_run) for feature_run in feature_runs],
        ),
        tables=Tables(data=data, valid=valid, test=test, aux_data=aux_data),
        corpus=corpus,
        reading=options or Reading(),
        seeds=seeds,
        labels=labels,
        training=Training(recipe=recipe, budget=budget, changes=changes),
        keep_runs=keep_runs,
    )
    study = runner.compare(request, out, overwrite=overwrite)
    write_study_report(study.document(), study.path, language=language)
    return Study.open(study.path)


def report(
    paths: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    language: Language = "en",
) -> Path:
    """Build the page again from what is on disk: of one study, or of runs side by side."""
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    studies = [path for path in several if StudyDirectory(path).is_study]
    if not studies:
        runs = [_run_to_show(path) for path in several]
        if out is None and runs[0].is_shipped:
            raise InputError(
                f"{runs[0].name} is part of the package, where no report is written.",
                expected="a folder for it",
                hint="--out FOLDER",
            )
        folder = Path(out) if out is not None else runs[0].path
        return write_runs_report([run_document(run) for run in runs], folder, language=language)
    if len(several) > 1:
        raise InputError(
            "A report is about one study, or about runs.",
            expected="one study, or one run or more",
            found=f"{len(studies)} studies and {len(several) - len(studies)} runs",
            hint="build one report after the other",
        )
    study = StudyDirectory.open(several[0])
    return write_study_report(
        study.document(), Path(out) if out is not None else study.path, language=language
    )


def doctor(
    data: Examples,
    *,
    valid: Examples | None = None,
    test: Examples | None = None,
    corpus: Sequence[str | Path] = (),
    run: str | Path | RunDirectory | None = None,
    options: Reading | None = None,
) -> list[Finding]:
    """What is wrong with labelled data, before a model learns from it; the serious first."""
    reading = options or Reading()
    given: dict[PartName, Examples | None] = {"train": data, "valid": valid, "test": test}
    opened = None if run is None else open_base(run)
    return examine(
        {name: load_examples(part, reading) for name, part in given.items() if part is not None},
        tokenizer=None if opened is None else load_classification_tokenizer(opened),
        context=None if opened is None else opened.recipe().model.context,
        corpus=corpus,
        options=reading,
    )


def _run_to_show(path: str | Path) -> RunDirectory:
    if Path(path).is_dir() and not (Path(path) / RUN_FILE).exists():
        raise RunError(
            f"{path} is neither a study nor a run.",
            expected=f"a folder with {STUDY_FILE}, as greffe compare writes it, or with {RUN_FILE}",
            found="a folder without them",
        )
    return RunDirectory.open(path)
