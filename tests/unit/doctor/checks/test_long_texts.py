"""Texts beyond the context."""

from __future__ import annotations

import pytest

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.long_texts import long_texts


def test_texts_beyond_the_context(tiny_tokenizer):
    short, long = Example("Ce livre est long.", "a"), Example("Ce livre est long. " * 20, "b")

    def found(context):
        parts = {"train": [short, long]}
        data = LabelledData(parts=parts, tokenizer=tiny_tokenizer, context=context)
        return list(long_texts(data))

    lengths = [len(tiny_tokenizer.encode(example.text)) for example in (short, long)]
    context = lengths[1] + 2
    assert found(context) == []
    (cut_off,) = found(context - 1)
    assert (cut_off.severity, cut_off.count, cut_off.total) == ("note", 1, 2)
    assert cut_off.detail["cut"] == pytest.approx(1 / sum(lengths))
    assert cut_off.detail["longest"] == lengths[1]
    (cut_off,) = found(16)
    assert cut_off.severity == "warning"
    assert cut_off.detail["cut"] == pytest.approx((lengths[1] - 14) / sum(lengths))
