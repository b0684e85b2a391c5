"""The special ids that a tokenizer's post-processor puts before and after a text."""

from __future__ import annotations

from typing import Any

from greffe.errors import CorruptError

MOST_SPECIALS = 2
"""Ids that a context has besides those of the text."""
Template = tuple[tuple[int, ...], tuple[int, ...]]
"""The ids before a text and after it."""


def read_template(processor: Any, size: int) -> Template:
    """Return the template for one text of a post-processor in the library's JSON form."""
    try:
        before, after = _read(processor)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise _unusable("a post-processor of another form") from None
    outside = [id for id in (*before, *after) if type(id) is not int or not 0 <= id < size]
    if outside:
        raise _unusable(f"the id {outside[0]!r:.40} in a vocabulary of {size:,}")
    if len(before) + len(after) > MOST_SPECIALS:
        raise _unusable(f"{len(before)} ids before a text and {len(after)} after it")
    return before, after


def _read(processor: Any) -> Template:
    match processor:
        case None | {"type": "ByteLevel"}:
            return (), ()
        case {"type": "BertProcessing" | "RobertaProcessing", "cls": [_, first], "sep": [_, last]}:
            return (first,), (last,)
        case {"type": "TemplateProcessing", "single": list(parts), "special_tokens": tokens}:
            texts = [index for index, part in enumerate(parts) if "Sequence" in part]
            if len(texts) != 1:
                raise ValueError
            ids = [() if "Sequence" in part else _ids(part, tokens) for part in parts]
            return sum(ids[: texts[0]], ()), sum(ids[texts[0] :], ())
        case {"type": "Sequence", "processors": list(steps)}:
            before: tuple[int, ...] = ()
            after: tuple[int, ...] = ()
            for outer_before, outer_after in map(_read, steps):
                before, after = outer_before + before, after + outer_after
            return before, after
    raise ValueError


def _ids(part: Any, tokens: Any) -> tuple[int, ...]:
    return tuple(tokens[part["SpecialToken"]["id"]]["ids"])


def _unusable(found: str) -> CorruptError:
    return CorruptError(
        "greffe cannot use the template of this tokenizer.",
        expected=f"at most {MOST_SPECIALS} special tokens around one text",
        found=found,
    )
