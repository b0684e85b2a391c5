"""Sections of question 1: masks and positions drawn, and what breaks without each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from greffe.evaluation.intervals import Estimate
from greffe.lab.lab_document import (
    Attention,
    ChainTask,
    CurvePoint,
    MaskArm,
    MaskTask,
    OrderArm,
    OrderTask,
)
from greffe.report.blocks import (
    Block,
    Code,
    Figure,
    Prose,
    Section,
    SideBySide,
    figure,
    section,
)
from greffe.report.catalog import Catalog
from greffe.report.charts.interval_chart import IntervalRow, interval_chart
from greffe.report.charts.lines import Point, Series, line_chart
from greffe.report.model_sections import picture
from greffe.report.report_table import Item, Table, TableBuilder, bounds

COMPLETE, LACKING, KNOWN = "pretrained", "scratch", "majority"
"""Styles of the charts: the complete model, one that lacks a part, what is computed."""


def attention_section(attention: Attention, catalog: Catalog) -> Section:
    """Return both masks side by side, then the positions."""
    figures = [picture(one, number, catalog) for number, one in enumerate(attention.pictures, 1)]
    blocks: list[Block] = [
        Prose(catalog("lab.attention.masks")),
        SideBySide(figures[:2]),
        Prose(catalog("lab.attention.positions")),
        *figures[2:],
    ]
    return section("attention", catalog, blocks)


# --- the mask -----------------------------------------------------------------------------------


def mask_section(task: MaskTask, catalog: Catalog) -> Section:
    """Return the training loss with and without the mask, and what both models can do."""
    texts = "\n".join(f"{_mask_name(catalog, arm)}\n  {arm.written}" for arm in task.arms)
    blocks: list[Block] = [
        _curves(task, catalog),
        _mask_table(task, catalog),
        Prose(mask_answer(task, catalog, "lab.mask")),
        Code(catalog("lab.mask.generated"), texts),
    ]
    return section(
        "mask",
        catalog,
        blocks,
        words=catalog.number(task.words),
        followers=catalog.number(task.followers),
        seeds=catalog.counted(task.seeds, "seed"),
        steps=catalog.number(task.steps),
        best=_bits_text(catalog, task.best_bits),
        blind=_bits_text(catalog, task.blind_bits),
    )


def mask_answer(task: MaskTask, catalog: Catalog, where: str) -> str:
    """Return what the mask task shows; the sentence depends on whether the intervals overlap."""
    masked = next(arm for arm in task.arms if arm.has_mask)
    bare = next(arm for arm in task.arms if not arm.has_mask)
    is_clear = bare.past_bits.low > masked.past_bits.high and bare.past_bits.mean > task.blind_bits
    values = {
        "whole": _bits_text(catalog, bare.whole_bits.mean),
        "past": _bits_text(catalog, bare.past_bits.mean),
        "blind": _bits_text(catalog, task.blind_bits),
        "masked": _bits_text(catalog, masked.past_bits.mean),
        "possible": catalog.percent(bare.possible.mean, 0),
        "masked_possible": catalog.percent(masked.possible.mean, 0),
    }
    if where == "lab.answer":
        return catalog(f"lab.answer.mask{'' if is_clear else '_unclear'}", **values)
    return catalog(f"lab.mask.{'broken' if is_clear else 'unclear'}", **values)


def _curves(task: MaskTask, catalog: Catalog) -> Figure:
    series = [
        Series(
            _mask_name(catalog, arm),
            [Point(point.step, point.mean, point.low, point.high) for point in arm.curve],
            _style(arm.has_mask),
        )
        for arm in task.arms
    ]
    known = [
        (catalog("lab.mask.blind"), round(task.blind_bits, 2)),
        (catalog("lab.mask.best"), round(task.best_bits, 2)),
    ]
    table = TableBuilder([(arm, point) for arm in task.arms for point in arm.curve], catalog)
    table.text("model", lambda pair: _mask_name(catalog, pair[0]), lambda pair: pair[0].has_mask)
    table.count("step", lambda pair: pair[1].step)
    _bits_columns(table, "bits", lambda pair: pair[1])
    return figure(
        "mask",
        catalog,
        table.build("mask_curve", catalog("figure.mask.title")),
        partial(line_chart, series, y_percent=False, reference_lines=known),
    )


def _mask_table(task: MaskTask, catalog: Catalog) -> Table:
    table = TableBuilder(task.arms, catalog)
    table.text("model", lambda arm: _mask_name(catalog, arm), lambda arm: arm.has_mask)
    _bits_columns(table, "whole_bits", lambda arm: arm.whole_bits, "whole_")
    _bits_columns(table, "past_bits", lambda arm: arm.past_bits, "past_")
    table.percent("possible", lambda arm: arm.possible.mean)
    table.interval(lambda arm: bounds(arm.possible), prefix="possible_")
    return table.build("mask")


def _mask_name(catalog: Catalog, arm: MaskArm) -> str:
    return catalog("lab.mask.with" if arm.has_mask else "lab.mask.without")


# --- the positions ------------------------------------------------------------------------------


def positions_section(order: OrderTask, chain: ChainTask, catalog: Catalog) -> Section:
    """Return which word comes first, then a language in which order matters."""
    blocks: list[Block] = [
        _order_figure(order, catalog),
        Prose(order_answer(order, catalog, "lab.order")),
        Prose(catalog("lab.chain.set_up", words=catalog.number(chain.words))),
        _chain_figure(chain, catalog),
        Prose(_chain_answer(chain, catalog)),
    ]
    return section(
        "positions",
        catalog,
        blocks,
        tokens=catalog.number(order.tokens),
        seeds=catalog.counted(order.seeds, "seed"),
        steps=catalog.number(order.steps),
        texts=catalog.number(order.texts),
    )


def order_answer(task: OrderTask, catalog: Catalog, where: str) -> str:
    """Return what the order task shows; the sentence depends on whether the intervals overlap."""
    found = {(arm.reading, arm.has_positions): arm.accuracy for arm in task.arms}
    placed, bare = found["bidirectional", True], found["bidirectional", False]
    is_clear = placed.low > bare.high and bare.low <= 0.5 <= bare.high
    values = {
        "with": catalog.percent(placed.mean),
        "without": catalog.percent(bare.mean),
        "causal_without": catalog.percent(found["causal", False].mean),
    }
    if where == "lab.answer":
        return catalog(f"lab.answer.positions{'' if is_clear else '_unclear'}", **values)
    return catalog(f"lab.order.{'broken' if is_clear else 'unclear'}", **values)


def _order_figure(task: OrderTask, catalog: Catalog) -> Figure:
    rows = [
        IntervalRow(_order_name(catalog, arm), arm.accuracy, _style(arm.has_positions))
        for arm in task.arms
    ]
    table = TableBuilder(task.arms, catalog)
    table.text(
        "model",
        lambda arm: _order_name(catalog, arm),
        lambda arm: f"{arm.reading} {arm.has_positions}",
    )
    table.percent("accuracy", lambda arm: arm.accuracy.mean)
    table.interval(lambda arm: bounds(arm.accuracy))
    title = catalog("figure.order.title")
    return figure("order", catalog, table.build("order", title), partial(interval_chart, rows))


def _order_name(catalog: Catalog, arm: OrderArm) -> str:
    return catalog(f"lab.order.{arm.reading}_{'with' if arm.has_positions else 'without'}")


def _chain_figure(task: ChainTask, catalog: Catalog) -> Figure:
    known = {
        "best": task.best_bits,
        "last_word": task.last_word_bits,
        "blind": task.blind_bits,
    }
    rows = [
        *(
            IntervalRow(
                catalog("lab.chain.with" if arm.has_positions else "lab.chain.without"),
                arm.bits,
                _style(arm.has_positions),
            )
            for arm in task.arms
        ),
        *(
            IntervalRow(catalog(f"lab.chain.{name}"), _known(bits), KNOWN)
            for name, bits in known.items()
        ),
    ]
    table = TableBuilder(rows, catalog)
    table.text("model", lambda row: row.name)
    table.optional("bits", lambda row: row.estimate.mean, catalog.decimal)
    table.interval(
        lambda row: bounds(row.estimate) if row.kind != KNOWN else None,
        write=partial(_bits_interval, catalog),
    )
    return figure(
        "chain",
        catalog,
        table.build("chain", catalog("figure.chain.title")),
        partial(interval_chart, rows, percent=False),
    )


def _known(bits: float) -> Estimate:
    return Estimate(mean=bits, deviation=0.0, low=bits, high=bits, values=[])


def _chain_answer(task: ChainTask, catalog: Catalog) -> str:
    placed = next(arm.bits for arm in task.arms if arm.has_positions)
    bare = next(arm.bits for arm in task.arms if not arm.has_positions)
    values = {
        "with": _bits_text(catalog, placed.mean),
        "without": _bits_text(catalog, bare.mean),
    }
    return catalog(f"lab.chain.{'worse' if bare.low > placed.high else 'unclear'}", **values)


# --- columns and numbers --------------------------------------------------------------------------


def _style(is_complete: bool) -> str:
    return COMPLETE if is_complete else LACKING


def _bits_text(catalog: Catalog, bits: float) -> str:
    return catalog.counted(bits, "bit", 2)


def _bits_interval(catalog: Catalog, low: float, high: float) -> str:
    return catalog.interval(catalog.decimal(low), catalog.decimal(high))


def _bits_columns(
    table: TableBuilder[Item],
    heading: str,
    get: Callable[[Item], Estimate | CurvePoint],
    prefix: str = "",
) -> None:
    table.optional(heading, lambda item: get(item).mean, table.catalog.decimal)
    table.interval(
        lambda item: (get(item).low, get(item).high),
        prefix=prefix,
        write=partial(_bits_interval, table.catalog),
    )
