"""Diagrams: the labels that several of them share."""

from __future__ import annotations

import pytest

from greffe.model import diagrams
from greffe.model.diagrams import Label
from greffe.report.catalog import load_catalog

SHARED = [value for value in vars(diagrams).values() if isinstance(value, Label)]


@pytest.mark.parametrize("label", SHARED, ids=lambda label: label.id)
def test_a_terminal_and_an_english_report_use_the_same_words(label):
    assert load_catalog("en").label(label) == label.text
