"""The lab's answers as tests read them."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.unit.report.parsed_page import echo_catalog

from greffe.lab.lab_page import lab_catalog
from greffe.report.catalog import Catalog
from greffe.report.number_format import Language

ANSWERS = ("lab.answer.", "lab.mask.", "lab.order.", "lab.chain.", "verdict.")


def echoed(make: Callable[[Catalog], list[str]], language: Language = "en") -> list[str]:
    """Return the answers as ids and values, with ordinary spaces."""

    def is_answer(key: str) -> bool:
        return key != "lab.answer.numbered" and key.startswith(ANSWERS)

    answers = make(echo_catalog(lab_catalog(language), is_answer))
    return [re.sub("[\t\u00a0\u202f]", " ", answer) for answer in answers]
