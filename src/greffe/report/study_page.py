"""The page of a study: which sections it has, in which order, and every table it writes."""

from __future__ import annotations

from greffe import __version__
from greffe.report import evidence_sections, evidence_tables, result_tables, study_sections
from greffe.report.catalog import Catalog
from greffe.report.model_sections import parameters_section, pictures_section, samples_section
from greffe.report.page import Page
from greffe.report.report_table import Table
from greffe.report.verdict import arm_names, verdict
from greffe.study.document import StudyDocument


def study_page(document: StudyDocument, catalog: Catalog) -> Page:
    """Return a study's page; sections without data are left out."""
    found = verdict(document, catalog)
    names = arm_names(catalog, document)
    parameters = {names.get(run, run): rows for run, rows in document.parameters.items()}
    samples = [
        one.model_copy(update={"run": names.get(one.run, one.run)}) for one in document.samples
    ]
    sections = (
        study_sections.arms_section(document, catalog),
        study_sections.epochs_section(document, catalog),
        study_sections.labels_section(document, catalog),
        study_sections.confusion_section(document, catalog),
        evidence_sections.disagreements_section(document, catalog),
        parameters_section(parameters, catalog),
        pictures_section([(matrix, "") for matrix in document.pictures], catalog),
        samples_section(samples, catalog),
        study_sections.calibration_section(document, catalog),
        study_sections.cost_section(document, catalog),
        evidence_sections.proof_section(document, catalog),
        evidence_sections.findings_section(document, catalog),
        evidence_sections.repeat_section(document, catalog),
    )
    return Page(
        title=catalog("page.title", name=document.name),
        headline=found.headline,
        sentences=found.sentences,
        about=_about(document, catalog),
        sections=[section for section in sections if section is not None],
        footer=catalog(
            "page.made", version=__version__, date=catalog.date(document.repeat.created)
        ),
    )


def _about(document: StudyDocument, catalog: Catalog) -> str:
    texts = {part.name: part.texts for part in document.data.parts}
    return catalog(
        "page.about",
        classes=catalog.counted(len(document.data.labels), "class"),
        train=catalog.counted(texts.get("train", 0), "text"),
        valid=catalog.counted(texts.get("valid", 0), "text"),
        scored=catalog.counted(document.data.scored, "test_text"),
        seeds=catalog.counted(len(document.repeat.seeds), "seed"),
    )


def study_tables(document: StudyDocument, catalog: Catalog) -> list[Table]:
    """Return every table, also the empty ones: they replace those of an earlier report."""
    title = catalog("section.parameters.title")
    return [
        result_tables.arms_table(document, catalog),
        result_tables.comparisons_table(document, catalog),
        result_tables.seeds_table(document, catalog),
        result_tables.differences_table(document, catalog),
        result_tables.epochs_table(document.arms, arm_names(catalog, document), catalog),
        result_tables.labels_table(document, catalog),
        result_tables.savings_table(document, catalog),
        result_tables.confusion_table(document, catalog),
        evidence_tables.disagreements_table(document, catalog),
        evidence_tables.parameters_table(document.parameters, title, catalog, with_run=True),
        evidence_tables.samples_table(document.samples, catalog),
        result_tables.calibration_table(document, catalog),
        result_tables.cost_table(document, catalog),
        evidence_tables.transfer_table(document, catalog),
        evidence_tables.hashes_table(document, catalog),
        evidence_tables.moves_table(document, catalog),
        evidence_tables.probes_table(document, catalog),
        evidence_tables.findings_table(document.findings, catalog),
        evidence_tables.data_table(document, catalog),
        *evidence_tables.repeat_tables(document.repeat, catalog),
    ]
