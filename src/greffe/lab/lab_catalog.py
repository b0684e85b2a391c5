"""The lab's words in one language: the report's catalogue and the lab's own on top of it."""

from __future__ import annotations

from functools import cache
from importlib import resources

from greffe.report.catalog import Catalog, catalog_from_toml, load_catalog
from greffe.report.number_format import Language


@cache
def own_words(language: Language) -> Catalog:
    """What the report's catalogue has not."""
    file = resources.files("greffe.lab") / "languages" / f"{language}.toml"
    return catalog_from_toml(file.read_text("utf-8"), language)


@cache
def lab_words(language: Language) -> Catalog:
    """Everything that the lab's page says."""
    shared = load_catalog(language).sentences
    return Catalog(language, {**shared, **own_words(language).sentences})
