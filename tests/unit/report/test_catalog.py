"""Catalogs: every language has every id that components declare, with the same placeholders."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import greffe
from greffe.config.components import HeadSpec, PositionSpec
from greffe.config.sections import ModelSpec
from greffe.doctor.finding import PartName, Severity
from greffe.errors import CorruptError, InputError
from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import model_matrices
from greffe.lab.head_sections import MISTAKES
from greffe.model.diagrams import Label
from greffe.model.parameters import account, default_heads
from greffe.report.catalog import Catalog, load_catalog, package_sentences, set_spaces
from greffe.report.number_format import Language
from greffe.study.arms import ARMS
from greffe.study.run_document import RunDocument

LANGUAGES: tuple[Language, ...] = get_args(Language)
PACKAGES = ("greffe.report", "greffe.lab")
SOURCE = Path(greffe.__file__).parent


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


# --- languages against each other -----------------------------------------------------------------


@pytest.mark.parametrize("package", PACKAGES)
def test_languages_have_the_same_ids_and_placeholders(package: str) -> None:
    english, french = (
        {key: placeholders(text) for key, text in package_sentences(package, language).items()}
        for language in LANGUAGES
    )
    assert list(english) == list(french)
    assert english == french


@pytest.mark.parametrize("language", LANGUAGES)
def test_packages_do_not_redefine_each_others_sentences(language: Language) -> None:
    report, lab = (package_sentences(package, language) for package in PACKAGES)
    assert not report.keys() & lab.keys()
    assert load_catalog(language, "greffe.lab").sentences == {**report, **lab}


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(InputError, match="'xx'") as caught:
        load_catalog("xx")  # type: ignore[arg-type]
    assert caught.value.expected == "en or fr"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_says_something(language: Language) -> None:
    sentences = load_catalog(language, "greffe.lab").sentences
    assert [key for key, text in sentences.items() if not text.strip()] == ["column.aspect"]


def test_french_typography() -> None:
    for key, text in load_catalog("fr", "greffe.lab").sentences.items():
        assert not re.search(r" [;:!?%»]|« ", text), key
        assert not re.search(r"[^\W\d_)}][;!?%»]", text), key
        assert "'" not in text, key


def test_english_percent_signs_follow_their_number() -> None:
    for key, text in load_catalog("en", "greffe.lab").sentences.items():
        assert not re.search(r"\s%", text), key


def test_french_spaces_touch_only_spaces_that_are_there() -> None:
    assert set_spaces("Oui ; non : « 5 % » ! http://x", "fr") == (
        "Oui\u202f; non\u00a0: «\u00a05\u00a0%\u00a0»\u202f! http://x"
    )
    assert set_spaces("Yes ; up {n}, p {p}", "en") == "Yes ; up {n}, p\u00a0{p}"


# --- catalogs against components ------------------------------------------------------------------


def literals(model: type, field: str) -> tuple[str, ...]:
    return get_args(model.model_fields[field].annotation)  # type: ignore[attr-defined]


def declared_rows() -> set[str]:
    """Ids of the rows of every shape of model with every head."""
    specs = [ModelSpec(norm=norm, tied=tied) for norm in ("pre", "post") for tied in (True, False)]
    specs += [ModelSpec(embedding_norm=True, embedding_width=128)]
    pooled = {"pooled": HeadSpec.of_kind("pooled")}
    return {
        f"part.{part}"
        for spec in specs
        for row in account(spec, 100, default_heads(spec) | pooled).rows
        for part in row.block.split("+")
    }


def declared_notes() -> set[str]:
    rows = account(ModelSpec(tied=True), 100, default_heads(ModelSpec(tied=True))).rows
    return {f"formula.{row.note}" for row in rows if row.note}


def declared_labels() -> list[Label]:
    """Labels of every drawing, of narrow models and of wide ones."""
    specs = [
        ModelSpec(width=width, heads=heads, position=kind())
        for width, heads in ((48, 4), (512, 1))
        for kind in PositionSpec.kinds().values()
    ]
    drawn = [
        one for spec in specs for causal in (True, False) for one in model_matrices(spec, causal)
    ]
    return [
        label
        for one in drawn
        for label in (one.title, one.meaning, one.row_label, one.column_label)
    ]


def declared_ids() -> set[str]:
    return {
        *declared_rows(),
        *declared_notes(),
        *(f"drawing.{label.id}" for label in declared_labels()),
        *("part.block", "probe.pretrained", "probe.random"),
        *(f"arms.{kind}" for kind in ARMS),
        *(f"arm_titles.{kind}" for kind in ARMS),
        *(f"severity.{severity}" for severity in get_args(Severity)),
        *(f"data_part.{part}" for part in get_args(PartName)),
        *(f"sample.{kind}" for kind in literals(LanguageSample, "kind")),
        *(f"kind.{kind}" for kind in literals(RunDocument, "kind")),
        *(f"kind.{status}" for status in literals(RunDocument, "status")),
        *(f"lab.mistake.{kind}" for kinds in MISTAKES.values() for kind in kinds),
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_declared_id_has_its_sentence(language: Language) -> None:
    assert declared_ids() - load_catalog(language, "greffe.lab").sentences.keys() == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_have_the_numbers_that_their_sentences_need(language: Language) -> None:
    catalog = load_catalog(language)
    for label in declared_labels():
        assert placeholders(catalog.sentences[f"drawing.{label.id}"]) == set(label.numbers)


@pytest.mark.parametrize(
    "section", ["arms", "arm_titles", "part", "formula", "drawing", "probe", "severity", "kind"]
)
def test_sections_of_components_have_no_sentence_that_nobody_declares(section: str) -> None:
    known = {key for key in load_catalog("en").sentences if key.startswith(f"{section}.")}
    assert known <= declared_ids()


# --- catalogs against the code that uses them -----------------------------------------------------


def strings_of(tree: ast.AST) -> Iterator[str]:
    """String constants and, for f-strings, patterns with a group per placeholder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                re.escape(f"{part.value}") if isinstance(part, ast.Constant) else "(.+?)"
                for part in node.values
            )


def used_patterns() -> set[str]:
    found: set[str] = set()
    for room in ("report", "lab"):
        for path in (SOURCE / room).rglob("*.py"):
            found.update(strings_of(ast.parse(path.read_text("utf-8"))))
        for path in (SOURCE / room).rglob("*.j2"):
            found.update(map(re.escape, re.findall(r'"([a-z_.]+)"', path.read_text("utf-8"))))
    return {pattern for pattern in found if re.match(r"[a-z_]+\\\.", pattern)}


def all_constants() -> set[str]:
    trees = (ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py"))
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


# Plural forms come from CLDR; measures are names in files of metrics.
FROM_ELSEWHERE = re.compile(r"one|other|measure\..*")


def is_used(key: str, patterns: set[str], constants: set[str]) -> bool:
    """Whether code names the id, or builds it from words that occur in code."""
    if FROM_ELSEWHERE.fullmatch(key):
        return True
    for pattern in patterns:
        match = re.fullmatch(pattern, key)
        if match and all(
            part in constants or FROM_ELSEWHERE.fullmatch(part) for part in match.groups()
        ):
            return True
    return False


def test_no_sentence_is_unused() -> None:
    patterns, constants = used_patterns(), all_constants()
    keys = set(load_catalog("en", "greffe.lab").sentences) - declared_ids()
    assert sorted(key for key in keys if not is_used(key, patterns, constants)) == []
    assert not is_used("verdict.nobody_says_this", patterns, constants)
    assert not is_used("column.nobody_heads_this", patterns, constants)


# --- numbers in sentences -------------------------------------------------------------------------


def test_nouns_follow_their_number(english: Catalog, french: Catalog) -> None:
    assert english.counted(1, "seed") == "1\u00a0seed"
    assert english.counted(0, "seed") == "0\u00a0seeds"
    assert french.counted(0, "seed") == "0\u00a0graine"
    assert french.counted_points(0.019) == "1,9\u00a0point"
    assert french.counted_points(0.0199) == "2,0\u00a0points"
    assert english.counted_points(0.01) == "1.0\u00a0points"


def test_intervals(english: Catalog, french: Catalog) -> None:
    assert english.interval_points(0.041, 0.083) == "4.1 to 8.3"
    assert english.interval_points(-0.011, 0.027) == "−1.1 to +2.7"
    assert french.interval_points(-0.011, 0.027) == "de −1,1 à +2,7"
    assert french.interval_percent(0.79, 0.83) == "de 79,0 à 83,0\u00a0%"


def test_rough_numbers_have_two_digits(english: Catalog) -> None:
    assert [english.rough(n) for n in (812.4, 1449, 50, 7.2)] == ["810", "1,400", "50", "7"]


def test_parts_and_labels_have_their_numbers(french: Catalog) -> None:
    assert french.part("block_3") == "bloc 3"
    assert french.part("base+next_token_head") == (
        f"{french('part.base')} + {french('part.next_token_head')}"
    )
    label = Label("alibi_head", "", {"head": 0, "slope": 0.25})
    assert french.label(label).endswith("tête 0, pente 0,25")


def test_formulas(english: Catalog, french: Catalog) -> None:
    assert french.formula("50,001 × 200") == "50\u202f001 × 200"
    assert english.formula("3 × (200 × 200 + 200)") == "3 × (200 × 200 + 200)"
    assert english.formula("50,001", "tied") == f"50,001 ({english('formula.tied')})"


@pytest.fixture
def english() -> Catalog:
    return load_catalog("en")


@pytest.fixture
def french() -> Catalog:
    return load_catalog("fr")


def test_names_that_a_damaged_document_holds() -> None:
    catalog = load_catalog("en")
    with pytest.raises(CorruptError, match="damaged or from another version"):
        catalog.label(Label("no_such_drawing", "?"))
    with pytest.raises(CorruptError, match="damaged or from another version"):
        catalog.part("no_such_part")
    with pytest.raises(CorruptError, match="damaged or from another version"):
        catalog.formula("1 + 1", "no_such_note")
