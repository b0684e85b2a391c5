"""The lab's document: read as written; nothing unknown is accepted."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from greffe.lab.lab_document import LabDocument


def test_the_document_comes_back_from_its_json(document: LabDocument) -> None:
    text = json.dumps(document.model_dump(mode="json"))
    assert LabDocument.model_validate(json.loads(text)) == document


@pytest.mark.parametrize("change", [{"format": 2}, {"counting": None}, {"sixth": "question"}])
def test_another_format_is_refused(document: LabDocument, change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LabDocument.model_validate({**document.model_dump(mode="json"), **change})
