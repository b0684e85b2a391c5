"""JSON on standard output: the same value in every encoding."""

from __future__ import annotations

import io
import json

import pytest

from greffe.cli.json_output import print_json


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("label", ["négatif", "😀", "lone \udcff"])
def test_json_says_the_same_in_every_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str, label: str
) -> None:
    file = io.BytesIO()
    output = io.TextIOWrapper(file, encoding=encoding, errors="replace")  # as the command does
    monkeypatch.setattr("sys.stdout", output)
    print_json({label: 1})
    assert json.loads(file.getvalue().decode(encoding)) == {label: 1}
