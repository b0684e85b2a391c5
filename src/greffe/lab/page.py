"""The lab's page: five answers in a few lines, then each question with its figures."""

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
from greffe.lab.document import LabDocument
from greffe.lab.model_sections import counting_section, heads_section
from greffe.lab.study_sections import (
    objectives_answer,
    objectives_section,
    pretraining_answer,
    pretraining_section,
    spoken_budget,
)
from greffe.lab.words import lab_words
from greffe.report.numbers import Language
from greffe.report.page import Page, page_html
from greffe.report.words import Words
from greffe.storage import write_atomic

PAGE_FILE = "lab.html"


def write_lab_page(document: LabDocument, folder: Path, language: Language) -> Path:
    """The page as one HTML file in `folder`."""
    words = lab_words(language)
    path = folder / PAGE_FILE
    text = page_html(lab_page(document, words), words)
    write_atomic(path, text.encode("utf-8", "backslashreplace"))
    return path


def lab_page(document: LabDocument, words: Words) -> Page:
    """Answers first, then the sections."""
    attention = document.attention
    return Page(
        title=words("lab.title"),
        headline=words("lab.headline"),
        sentences=[*lab_answers(document, words), *_caution(document, words)],
        about=_about(document, words),
        sections=[
            attention_section(attention, words),
            mask_section(attention.mask, words),
            positions_section(attention.order, attention.chain, words),
            heads_section(document.heads, words),
            counting_section(document.counting, words),
            pretraining_section(document, words),
            objectives_section(document, words),
        ],
        footer=words("lab.made", version=__version__),
    )


def lab_answers(document: LabDocument, words: Words) -> list[str]:
    """One sentence or two a question, each with its number."""
    attention, truth = document.attention, document.counting.truth
    shapes = document.heads.shapes
    totals = {name: words.number(total) for name, total in truth.model_dump().items()}
    return [
        mask_answer(attention.mask, words, "lab.answer"),
        order_answer(attention.order, words, "lab.answer"),
        words(
            "lab.answer.heads",
            vocab=words.number(shapes.vocab),
            classes=words.number(shapes.classes),
            base=totals["base"],
        ),
        words("lab.answer.counting", **totals),
        words("lab.answer.numbered", number=4, answer=pretraining_answer(document.study, words)),
        words("lab.answer.numbered", number=5, answer=objectives_answer(document, words)),
    ]


def _caution(document: LabDocument, words: Words) -> list[str]:
    if document.data.is_sample:
        return [words("lab.sample_only")]
    return [words("lab.reviews_only")] if document.data.corpus_is_reviews else []


def _about(document: LabDocument, words: Words) -> str:
    study, data = document.study, document.data
    texts = {part.name: part.texts for part in study.data.parts}
    return words(
        f"lab.about_{'sample' if data.is_sample else 'files'}",
        recipe=data.recipe,
        documents=words.counted(data.documents, "document"),
        corpus=data.corpus,
        budget=spoken_budget(data.budget, words),
        train=words.counted(texts["train"], "text"),
        valid=words.counted(texts["valid"], "text"),
        scored=words.counted(study.data.scored, "test_text"),
        seeds=words.counted(len(study.repeat.seeds), "seed"),
    )
