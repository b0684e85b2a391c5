"""The lab's page: five short answers, then each question with its figures."""

from __future__ import annotations

from pathlib import Path

from greffe import __version__
from greffe.lab.attention_sections import (
    attention_section,
    mask_answer,
    mask_section,
    order_answer,
    positions_section,
)
from greffe.lab.head_sections import counting_section, heads_section
from greffe.lab.lab_document import LabDocument
from greffe.lab.pretraining_sections import (
    budget_text,
    objectives_answer,
    objectives_section,
    pretraining_answer,
    pretraining_section,
)
from greffe.report.catalog import Catalog, load_catalog
from greffe.report.number_format import Language
from greffe.report.page import Page, page_html
from greffe.storage import write_atomic

PAGE_FILE = "lab.html"


def lab_catalog(language: Language) -> Catalog:
    """Return the report's texts and the lab's own."""
    return load_catalog(language, "greffe.lab")


def write_lab_page(document: LabDocument, folder: Path, language: Language) -> Path:
    """Write the page as one HTML file in `folder`."""
    catalog = lab_catalog(language)
    path = folder / PAGE_FILE
    text = page_html(lab_page(document, catalog), catalog)
    write_atomic(path, text.encode("utf-8", "backslashreplace"))
    return path


def lab_page(document: LabDocument, catalog: Catalog) -> Page:
    """Return the page: answers first, then the sections."""
    attention = document.attention
    return Page(
        title=catalog("lab.title"),
        headline=catalog("lab.headline"),
        sentences=[*lab_answers(document, catalog), *_caution(document, catalog)],
        about=_about(document, catalog),
        sections=[
            attention_section(attention, catalog),
            mask_section(attention.mask, catalog),
            positions_section(attention.order, attention.chain, catalog),
            heads_section(document.heads, catalog),
            counting_section(document.counting, catalog),
            pretraining_section(document, catalog),
            objectives_section(document, catalog),
        ],
        footer=catalog("lab.made", version=__version__),
    )


def lab_answers(document: LabDocument, catalog: Catalog) -> list[str]:
    """Return one or two sentences per question, each with its number."""
    attention, targets = document.attention, document.counting.targets
    shapes = document.heads.shapes
    totals = {name: catalog.number(total) for name, total in targets.model_dump().items()}
    return [
        mask_answer(attention.mask, catalog, "lab.answer"),
        order_answer(attention.order, catalog, "lab.answer"),
        catalog(
            "lab.answer.heads",
            vocab=catalog.number(shapes.vocab),
            classes=catalog.number(shapes.classes),
            base=totals["base"],
        ),
        catalog("lab.answer.counting", **totals),
        catalog(
            "lab.answer.numbered", number=4, answer=pretraining_answer(document.study, catalog)
        ),
        catalog("lab.answer.numbered", number=5, answer=objectives_answer(document, catalog)),
    ]


def _caution(document: LabDocument, catalog: Catalog) -> list[str]:
    if document.data.is_sample:
        return [catalog("lab.sample_only")]
    return [catalog("lab.reviews_only")] if document.data.corpus_is_reviews else []


def _about(document: LabDocument, catalog: Catalog) -> str:
    study, data = document.study, document.data
    texts = {part.name: part.texts for part in study.data.parts}
    return catalog(
        f"lab.about_{'sample' if data.is_sample else 'files'}",
        recipe=data.recipe,
        documents=catalog.counted(data.documents, "document"),
        corpus=data.corpus,
        budget=budget_text(data.budget, catalog),
        train=catalog.counted(texts["train"], "text"),
        valid=catalog.counted(texts["valid"], "text"),
        scored=catalog.counted(study.data.scored, "test_text"),
        seeds=catalog.counted(len(study.repeat.seeds), "seed"),
    )
