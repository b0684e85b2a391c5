"""Number of parameters of each block, by a formula and by counting.

The formula uses the shapes alone; the count builds the model on the meta device, without memory.
Knows nothing of how the table is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.config.spec import Spec
from greffe.model.formulas import BASE_PARTS, base_formulas
from greffe.model.model import Model, empty_model


class ParameterRow(Spec):
    """One block: its formula with numbers, the formula's value, and the count in the model."""

    block: str
    """Its id in the catalogs; a base with a head has both ids, joined by "+"."""
    formula: str
    closed: int
    counted: int
    note: str = ""
    """Id of a remark on the formula, if there is one."""
    is_total: bool = False
    """Whether it is the sum of a base, or of a base and a head."""


@dataclass(frozen=True)
class Account:
    """Parameters of a base, block by block, and of each head on it."""

    blocks: tuple[ParameterRow, ...]
    base: ParameterRow
    heads: dict[str, ParameterRow]
    totals: dict[str, ParameterRow]
    """Base and one head together, by the head's kind."""
    published: tuple[ParameterRow, ...] = ()
    """Of an imported base: what other parameters hold here or what was cut, and the sum."""

    @property
    def rows(self) -> list[ParameterRow]:
        """All rows in the order of the table."""
        pairs = [row for kind in self.heads for row in (self.heads[kind], self.totals[kind])]
        return [*self.blocks, self.base, *pairs, *self.published]

    def to_json(self) -> dict[str, Any]:
        """Return the account as plain dictionaries and numbers."""
        return {
            "base": {"closed": self.base.closed, "counted": self.base.counted},
            "blocks": [row.model_dump(exclude={"is_total"}) for row in self.blocks],
            "heads": {
                kind: {
                    "formula": row.formula,
                    "closed": row.closed,
                    "counted": row.counted,
                    "total": self.totals[kind].closed,
                    "total_counted": self.totals[kind].counted,
                }
                for kind, row in self.heads.items()
            },
            **({"published": self._published()} if self.published else {}),
        }

    def _published(self) -> dict[str, Any]:
        *folded, total = self.published
        return {
            "closed": total.closed,
            "counted": total.counted,
            "folded": {row.block: row.closed for row in folded},
        }


def default_heads(spec: ModelSpec) -> dict[str, HeadSpec]:
    """Return one head of each kind, as a recipe with this model would have them."""
    kinds = {kind: head for kind, head in HeadSpec.kinds().items() if not head.is_imported}
    return {kind: head.for_model(spec) for kind, head in kinds.items()}


def account(spec: ModelSpec, vocab: int, heads: Mapping[str, HeadSpec]) -> Account:
    """Return formula and count for every block of the base and every head."""
    model = empty_model(spec, vocab, heads)
    blocks = _blocks(spec, vocab, model)
    parts = [row for row in blocks if row.block in BASE_PARTS]
    base = _row(
        "base",
        " + ".join(f"{row.closed:,}" for row in parts if row.closed),
        sum(row.closed for row in parts),
        _count(model, "base."),
        is_total=True,
    )
    head_rows = {}
    totals = {}
    for kind, head in heads.items():
        formula, closed = head.parameters(spec, vocab)
        counted = _count(model, f"heads.{kind}.")
        note = "tied" if getattr(head, "tied", False) else ""
        row = _row(f"{kind}_head", formula, closed, counted, note=note)
        head_rows[kind] = row
        totals[kind] = _row(
            f"base+{row.block}",
            f"{base.closed:,} + {closed:,}",
            base.closed + closed,
            base.counted + row.counted,
            is_total=True,
        )
    return Account(tuple(blocks), base, head_rows, totals)


def with_published(
    account: Account, spec: ModelSpec, folded: Mapping[str, int], counted: int
) -> Account:
    """Return the account of an imported base with the sum as it was published.

    `folded` are parameters that are part of others here, or cut; `counted` is the sum in its files.
    """
    rows = [
        _row(name, _table(value, spec.token_width), value, value, note="folded or cut")
        for name, value in folded.items()
    ]
    pooler = account.heads.get("pooled")
    parts = [account.base.closed, *([pooler.closed] if pooler else []), *folded.values()]
    formula = " + ".join(f"{part:,}" for part in parts)
    total = _row("as published", formula, sum(parts), counted, is_total=True)
    return replace(account, published=(*rows, total))


def _table(value: int, width: int) -> str:
    """Return a number of parameters as rows of a table, if they are."""
    return f"{value:,}" if value % width else f"{value // width:,} × {width}"


def _blocks(spec: ModelSpec, vocab: int, model: Model) -> list[ParameterRow]:
    # Count the parts of a layer in a model with two layers: the base may have none.
    # The second one, as the first may have no norm before its attention.
    two_layers = empty_model(spec.model_copy(update={"layers": 2}), vocab, {})

    def in_layer(*parts: str) -> int:
        return sum(_count(two_layers, f"base.blocks.1.{part}") for part in parts)

    counted = {
        "embedding": _count(model, "base.embedding."),
        "positions": _count(model, "base.position."),
        "embedding_norm": _count(model, "base.embedding_norm."),
        "embedding_projection": _count(model, "base.embedding_projection."),
        "attention_qkv": in_layer("attention.qkv."),
        "attention_output": in_layer("attention.out."),
        "feed_forward": in_layer("feed_forward."),
        "norms": in_layer("attention_norm.", "feed_forward_norm."),
        "one_layer": in_layer(""),
        "all_layers": _count(model, "base.blocks."),
        "final_norm": _count(model, "base.final_norm."),
    }
    return [
        _row(block, formula, closed, counted[block])
        for block, (formula, closed) in base_formulas(spec, vocab).items()
    ]


def _row(
    block: str,
    formula: str,
    closed: int,
    counted: int,
    *,
    note: str = "",
    is_total: bool = False,
) -> ParameterRow:
    return ParameterRow(
        block=block, formula=formula, closed=closed, counted=counted, note=note, is_total=is_total
    )


def _count(model: Model, prefix: str) -> int:
    return sum(
        parameter.numel() for name, parameter in model.named_parameters() if name.startswith(prefix)
    )
