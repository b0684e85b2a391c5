"""The page of a study: which sections it has, in which order, and every table it writes."""

from __future__ import annotations

from greffe import __version__
from greffe.report import curve_tables, evidence_sections, evidence_tables, study_sections
from greffe.report import study_tables as figures
from greffe.report.findings import findings_table
from greffe.report.model_sections import parameters_section, pictures_section, samples_section
from greffe.report.page import Page
from greffe.report.tables import Table
from greffe.report.verdict import verdict
from greffe.report.words import Words
from greffe.study.document import StudyDocument


def study_page(document: StudyDocument, words: Words) -> Page:
    """Sections without data are left out."""
    found = verdict(document, words.language)
    sections = (
        study_sections.arms_section(document, words),
        study_sections.epochs_section(document, words),
        study_sections.labels_section(document, words),
        study_sections.confusion_section(document, words),
        evidence_sections.disagreements_section(document, words),
        parameters_section(document.parameters, words),
        pictures_section(document.pictures, words),
        samples_section(document.samples, words),
        study_sections.calibration_section(document, words),
        study_sections.cost_section(document, words),
        evidence_sections.proof_section(document, words),
        evidence_sections.findings_section(document, words),
        evidence_sections.repeat_section(document, words),
    )
    return Page(
        title=words("page.title", name=document.name),
        headline=found.headline,
        sentences=found.sentences,
        about=_about(document, words),
        sections=[section for section in sections if section is not None],
        footer=words("page.made", version=__version__, date=document.repeat.created[:10]),
    )


def _about(document: StudyDocument, words: Words) -> str:
    texts = {part.name: part.texts for part in document.data.parts}
    return words(
        "page.asked",
        classes=words.counted(len(document.data.labels), "class"),
        train=words.counted(texts.get("train", 0), "text"),
        valid=words.counted(texts.get("valid", 0), "text"),
        scored=words.counted(document.data.scored, "test_text"),
        seeds=words.counted(len(document.repeat.seeds), "seed"),
    )


def study_tables(document: StudyDocument, words: Words) -> list[Table]:
    """Every table, the empty ones too: a report that is built again leaves none of before."""
    title = words("section.parameters.title")
    return [
        figures.arms_table(document, words),
        figures.comparisons_table(document, words),
        curve_tables.seeds_table(document, words),
        curve_tables.differences_table(document, words),
        curve_tables.epochs_table(document, words),
        curve_tables.labels_table(document, words),
        curve_tables.savings_table(document, words),
        figures.confusion_table(document, words),
        evidence_tables.disagreements_table(document, words),
        evidence_tables.all_parameters_table(document.parameters, title, words),
        evidence_tables.samples_table(document.samples, words),
        figures.calibration_table(document, words),
        figures.cost_table(document, words),
        evidence_tables.transfer_table(document, words),
        evidence_tables.hashes_table(document, words),
        evidence_tables.moves_table(document, words),
        evidence_tables.probes_table(document, words),
        findings_table(document.findings, words),
        evidence_tables.data_table(document, words),
        *evidence_tables.repeat_tables(document.repeat, words),
    ]
