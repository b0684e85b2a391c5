"""Study documents: they survive JSON and know the kinds of arms."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from tests.builders import arm, study_document

from greffe.study.document import StudyDocument


def test_a_document_survives_json() -> None:
    document = study_document()
    assert StudyDocument.model_validate_json(document.model_dump_json()) == document


def test_an_arm_is_of_a_registered_kind() -> None:
    assert arm("stacked+runs", 0.8, name="mine").kind == "stacked+runs"
    with pytest.raises(ValidationError, match="'unknown' is not one of pretrained, scratch"):
        arm("unknown", 0.8)
