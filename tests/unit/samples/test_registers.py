"""The shipped sentences are what their README says: whole, balanced, and told apart by manner."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from greffe.config.options import Reading
from greffe.data.duplicates import duplicate_groups
from greffe.data.tables import Example, read_examples
from greffe.data.words import plain_words
from greffe.samples.registers import registers_folder

REGISTERS = ("soutenu", "courant", "familier")


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Example]]:
    folder = registers_folder()
    return {
        part: list(read_examples(folder / f"{part}.tsv", Reading()))
        for part in ("train", "valid", "test")
    }


@pytest.mark.parametrize(("part", "count"), [("train", 48), ("valid", 12), ("test", 274)])
def test_each_part_is_whole_and_balanced(
    parts: dict[str, list[Example]], part: str, count: int
) -> None:
    assert Counter(one.label for one in parts[part]) == dict.fromkeys(REGISTERS, count)


def test_no_sentence_of_one_part_is_nearly_in_the_other(parts: dict[str, list[Example]]) -> None:
    texts = [one.text for part in parts.values() for one in part]
    groups = duplicate_groups(texts)
    ends = np.cumsum([len(part) for part in parts.values()])[:-1]
    first, second, third = (set(part) for part in np.split(np.array(groups), ends))
    assert not (first & second or first & third or second & third)
    assert len({tuple(plain_words(text)[:4]) for text in texts}) == len(texts)


def test_length_and_punctuation_do_not_give_the_register_away(
    parts: dict[str, list[Example]],
) -> None:
    by_register = {
        register: [one.text for part in parts.values() for one in part if one.label == register]
        for register in REGISTERS
    }
    lengths = {
        name: np.mean([len(t.split()) for t in texts]) for name, texts in by_register.items()
    }
    assert max(lengths.values()) < 1.1 * min(lengths.values())
    for texts in by_register.values():
        assert np.mean([text[0].isupper() for text in texts]) > 0.98
        assert np.mean([text[-1] in ".!?" for text in texts]) > 0.98
