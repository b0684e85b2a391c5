"""Templates of post-processors, in the library's JSON form."""

from __future__ import annotations

from typing import Any

import pytest

from greffe.data.row_template import read_template
from greffe.errors import CorruptError

TEXT = {"Sequence": {"id": "A", "type_id": 0}}
TOKENS = {
    "a": {"id": "a", "ids": [1], "tokens": ["a"]},
    "b": {"id": "b", "ids": [2, 3], "tokens": ["b", "c"]},
}
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 5], "cls": ["[CLS]", 4]}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}


def special(name: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": 0}}


def template(*parts: dict[str, Any]) -> dict[str, Any]:
    single = list(parts)
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": TOKENS}


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (None, ((), ())),
        (BYTES, ((), ())),
        (BERT, ((4,), (5,))),
        ({**BERT, "type": "RobertaProcessing", "trim_offsets": True}, ((4,), (5,))),
        (template(TEXT), ((), ())),
        (template(special("a"), TEXT), ((1,), ())),
        (template(TEXT, special("a")), ((), (1,))),
        (template(special("b"), TEXT), ((2, 3), ())),
        (template(special("a"), TEXT, special("a")), ((1,), (1,))),
        ({"type": "Sequence", "processors": [BYTES, BERT]}, ((4,), (5,))),
        # The later step is around the earlier one.
        (
            {
                "type": "Sequence",
                "processors": [template(special("a"), TEXT), template(special("a"), TEXT)],
            },
            ((1, 1), ()),
        ),
    ],
)
def test_ids_around_a_text(processor: Any, expected: Any) -> None:
    assert read_template(processor, 10) == expected


@pytest.mark.parametrize(
    "processor",
    [
        {},
        {"type": "Other"},
        {**BERT, "cls": ["[CLS]", 10]},
        {**BERT, "cls": ["[CLS]", "4"]},
        {**BERT, "cls": ["[CLS]", -1]},
        {**BERT, "cls": None},
        template(),
        template(TEXT, TEXT),
        template(special("other"), TEXT),
        template(special("b"), TEXT, special("a")),
        template({"SpecialToken": None}, TEXT),
        {"type": "Sequence", "processors": [BERT, BERT]},
        {"type": "Sequence", "processors": 7},
    ],
)
def test_others_are_an_error(processor: Any) -> None:
    with pytest.raises(CorruptError, match="template") as caught:
        read_template(processor, 10)
    assert caught.value.found
