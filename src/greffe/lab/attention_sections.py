"""Sections of question 1: masks and positions drawn, and what breaks without each."""

from __future__ import annotations

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
    chart_texts,
    section,
)
from greffe.report.catalog import Catalog
from greffe.report.charts import IntervalRow, Point, Series, interval_chart, line_chart
from greffe.report.model_sections import pictures_section
from greffe.report.number_format import NO_BREAK, is_singular
from greffe.report.report_table import Cell, Table, cell, number_column, text_column
from greffe.report.table_cells import interval_cell, percent_cell

WITH, WITHOUT, KNOWN = "pretrained", "scratch", "majority"
"""Styles of the charts: the model as it should be, one that lacks something, what is computed."""


def attention_section(attention: Attention, catalog: Catalog) -> Section:
    """Both masks side by side, then the positions."""
    drawn = pictures_section(attention.pictures, catalog)
    figures = [block for block in drawn.blocks if isinstance(block, Figure)] if drawn else []
    masks, positions = figures[:2], figures[2:]
    return section(
        "attention",
        catalog,
        [
            Prose(catalog("lab.attention.masks")),
            SideBySide(masks),
            Prose(catalog("lab.attention.positions")),
            *positions,
        ],
    )


# --- the mask -----------------------------------------------------------------------------------


def mask_section(task: MaskTask, catalog: Catalog) -> Section:
    """Training loss with and without the mask, and what the two models can do afterwards."""
    lead = catalog(
        "section.mask.lead",
        words=catalog.number(task.words),
        followers=catalog.number(task.followers),
        seeds=catalog.counted(task.seeds, "seed"),
        steps=catalog.number(task.steps),
        best=_spoken_bits(catalog, task.best_bits),
        blind=_spoken_bits(catalog, task.blind_bits),
    )
    written = "\n".join(f"{_mask_name(catalog, arm)}\n  {arm.written}" for arm in task.arms)
    blocks: list[Block] = [
        _curves(task, catalog),
        _mask_table(task, catalog),
        Prose(mask_answer(task, catalog, "lab.mask")),
        Code(catalog("lab.mask.written"), written),
    ]
    return Section("mask", catalog("section.mask.title"), lead, blocks)


def mask_answer(task: MaskTask, catalog: Catalog, where: str) -> str:
    """What the mask task comes to; the word for it depends on how clear it is."""
    masked = next(arm for arm in task.arms if arm.has_mask)
    bare = next(arm for arm in task.arms if not arm.has_mask)
    is_clear = bare.past_bits.low > masked.past_bits.high and bare.past_bits.mean > task.blind_bits
    places = {
        "whole": _spoken_bits(catalog, bare.whole_bits.mean),
        "past": _spoken_bits(catalog, bare.past_bits.mean),
        "blind": _spoken_bits(catalog, task.blind_bits),
        "masked": _spoken_bits(catalog, masked.past_bits.mean),
        "possible": catalog.percent(bare.possible.mean, 0),
        "masked_possible": catalog.percent(masked.possible.mean, 0),
    }
    if where == "lab.answer":
        return catalog(f"lab.answer.mask{'' if is_clear else '_unclear'}", **places)
    return catalog(f"lab.mask.{'broken' if is_clear else 'unclear'}", **places)


def _curves(task: MaskTask, catalog: Catalog) -> Figure:
    title, caption = catalog("lab.mask.curve_title"), catalog("lab.mask.curve_caption")
    svg = line_chart(
        [
            Series(
                _mask_name(catalog, arm),
                [Point(point.step, point.mean, point.low, point.high) for point in arm.curve],
                WITH if arm.has_mask else WITHOUT,
            )
            for arm in task.arms
        ],
        ident="mask-chart",
        title=title,
        description=caption,
        x_label=catalog("lab.mask.x"),
        y_label=catalog("lab.mask.y"),
        y_percent=False,
        reference_lines=[
            (catalog("lab.mask.blind"), round(task.blind_bits, 2)),
            (catalog("lab.mask.best"), round(task.best_bits, 2)),
        ],
        catalog=chart_texts(catalog),
    )
    rows = [
        [
            cell(_mask_name(catalog, arm), arm.has_mask),
            cell(catalog.number(point.step), point.step),
            *_bits_cells(catalog, point),
        ]
        for arm in task.arms
        for point in arm.curve
    ]
    columns = [
        text_column(catalog("lab.mask.column_model"), "has_mask"),
        number_column(catalog("column.step"), "step"),
        number_column(catalog("lab.mask.y"), "bits"),
        number_column(catalog("column.interval"), "low", "high"),
    ]
    table = Table("mask_curve", title, columns, rows)
    return Figure("mask-chart", title, caption, svg, table)


def _mask_table(task: MaskTask, catalog: Catalog) -> Table:
    rows = [
        [
            cell(_mask_name(catalog, arm), arm.has_mask),
            *_bits_cells(catalog, arm.whole_bits),
            *_bits_cells(catalog, arm.past_bits),
            percent_cell(catalog, arm.possible.mean),
            interval_cell(catalog, arm.possible),
        ]
        for arm in task.arms
    ]
    interval = catalog("column.interval")
    columns = [
        text_column(catalog("lab.mask.column_model"), "has_mask"),
        number_column(catalog("lab.mask.column_whole"), "whole_bits"),
        number_column(interval, "whole_low", "whole_high"),
        number_column(catalog("lab.mask.column_past"), "past_bits"),
        number_column(interval, "past_low", "past_high"),
        number_column(catalog("lab.mask.column_possible"), "possible"),
        number_column(interval, "possible_low", "possible_high"),
    ]
    return Table("mask", catalog("lab.mask.table"), columns, rows)


def _mask_name(catalog: Catalog, arm: MaskArm) -> str:
    return catalog("lab.mask.with" if arm.has_mask else "lab.mask.without")


# --- the positions ------------------------------------------------------------------------------


def positions_section(order: OrderTask, chain: ChainTask, catalog: Catalog) -> Section:
    """Which word comes first, then a language in which order matters."""
    lead = catalog(
        "section.positions.lead",
        tokens=catalog.number(order.tokens),
        seeds=catalog.counted(order.seeds, "seed"),
        steps=catalog.number(order.steps),
        texts=catalog.number(order.texts),
    )
    blocks: list[Block] = [
        _order_figure(order, catalog),
        Prose(order_answer(order, catalog, "lab.order")),
        Prose(catalog("lab.chain.set_up", words=catalog.number(chain.words))),
        _chain_figure(chain, catalog),
        Prose(_chain_answer(chain, catalog)),
    ]
    return Section("positions", catalog("section.positions.title"), lead, blocks)


def order_answer(task: OrderTask, catalog: Catalog, where: str) -> str:
    """What the order task comes to; the word for it depends on how clear it is."""
    found = {(arm.reading, arm.has_positions): arm.accuracy for arm in task.arms}
    placed, bare = found["bidirectional", True], found["bidirectional", False]
    is_clear = placed.low > bare.high and bare.low <= 0.5 <= bare.high
    places = {
        "with": catalog.percent(placed.mean),
        "without": catalog.percent(bare.mean),
        "causal_without": catalog.percent(found["causal", False].mean),
    }
    if where == "lab.answer":
        return catalog(f"lab.answer.positions{'' if is_clear else '_unclear'}", **places)
    return catalog(f"lab.order.{'broken' if is_clear else 'unclear'}", **places)


def _order_figure(task: OrderTask, catalog: Catalog) -> Figure:
    title, caption = catalog("lab.order.title"), catalog("lab.order.caption")
    svg = interval_chart(
        [
            _interval_row(_order_name(catalog, arm), arm.accuracy, arm.has_positions)
            for arm in task.arms
        ],
        ident="order-chart",
        title=title,
        description=caption,
        x_label=catalog("lab.order.x"),
        catalog=chart_texts(catalog),
    )
    rows = [
        [
            cell(_order_name(catalog, arm), f"{arm.reading} {arm.has_positions}"),
            percent_cell(catalog, arm.accuracy.mean),
            interval_cell(catalog, arm.accuracy),
        ]
        for arm in task.arms
    ]
    columns = [
        text_column(catalog("lab.order.column_model"), "model"),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "low", "high"),
    ]
    table = Table("order", catalog("lab.order.table"), columns, rows)
    return Figure("order-chart", title, caption, svg, table)


def _order_name(catalog: Catalog, arm: OrderArm) -> str:
    return catalog(f"lab.order.{arm.reading}_{'with' if arm.has_positions else 'without'}")


def _chain_figure(task: ChainTask, catalog: Catalog) -> Figure:
    title, caption = catalog("lab.chain.title"), catalog("lab.chain.caption")
    named = [
        (catalog("lab.chain.with" if arm.has_positions else "lab.chain.without"), arm)
        for arm in task.arms
    ]
    known = {
        "best": task.best_bits,
        "last_word": task.last_word_bits,
        "blind": task.blind_bits,
    }
    svg = interval_chart(
        [
            *(_interval_row(name, arm.bits, arm.has_positions) for name, arm in named),
            *(
                IntervalRow(catalog(f"lab.chain.{who}"), bits, bits, bits, [], KNOWN)
                for who, bits in known.items()
            ),
        ],
        ident="chain-chart",
        title=title,
        description=caption,
        x_label=catalog("lab.chain.x"),
        percent=False,
        catalog=chart_texts(catalog),
    )
    none = cell(catalog("number.none"), None, None)
    rows = [
        *([cell(name, arm.has_positions), *_bits_cells(catalog, arm.bits)] for name, arm in named),
        *(
            [cell(catalog(f"lab.chain.{who}")), cell(_bits(catalog, bits), bits), none]
            for who, bits in known.items()
        ),
    ]
    columns = [
        text_column(catalog("lab.chain.column_model"), "model"),
        number_column(catalog("lab.chain.column_bits"), "bits"),
        number_column(catalog("column.interval"), "low", "high"),
    ]
    table = Table("chain", catalog("lab.chain.table"), columns, rows)
    return Figure("chain-chart", title, caption, svg, table)


def _chain_answer(task: ChainTask, catalog: Catalog) -> str:
    placed = next(arm.bits for arm in task.arms if arm.has_positions)
    bare = next(arm.bits for arm in task.arms if not arm.has_positions)
    places = {
        "with": _spoken_bits(catalog, placed.mean),
        "without": _spoken_bits(catalog, bare.mean),
    }
    return catalog(f"lab.chain.{'worse' if bare.low > placed.high else 'unclear'}", **places)


# --- cells --------------------------------------------------------------------------------------


def _interval_row(name: str, found: Estimate, is_whole: bool) -> IntervalRow:
    style = WITH if is_whole else WITHOUT
    return IntervalRow(name, found.mean, found.low, found.high, found.values, style)


def _spoken_bits(catalog: Catalog, bits: float) -> str:
    form = "one" if is_singular(bits, catalog.language) else "many"
    return f"{_bits(catalog, bits)}{NO_BREAK}{catalog(f'counted.bit.{form}')}"


def _bits(catalog: Catalog, bits: float) -> str:
    return catalog.decimal(bits, 2)


def _bits_cells(catalog: Catalog, found: Estimate | CurvePoint) -> list[Cell]:
    interval = catalog.interval(_bits(catalog, found.low), _bits(catalog, found.high))
    return [cell(_bits(catalog, found.mean), found.mean), cell(interval, found.low, found.high)]
