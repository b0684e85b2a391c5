"""Sections of question 1: masks and positions drawn, and what breaks without each."""

from __future__ import annotations

from greffe.evaluation.intervals import Estimate
from greffe.lab.document import (
    Attention,
    ChainTask,
    CurvePoint,
    MaskArm,
    MaskTask,
    OrderArm,
    OrderTask,
)
from greffe.report.blocks import Beside, Block, Code, Figure, Prose, Section, chart_words, section
from greffe.report.cells import interval_cell, percent_cell
from greffe.report.charts import IntervalRow, Point, Series, interval_chart, line_chart
from greffe.report.model_sections import pictures_section
from greffe.report.numbers import NO_BREAK, is_singular
from greffe.report.tables import Cell, Table, cell, number_column, text_column
from greffe.report.words import Words

WITH, WITHOUT, KNOWN = "pretrained", "scratch", "majority"
"""Styles of the charts: the model as it should be, one that lacks something, what is computed."""


def attention_section(attention: Attention, words: Words) -> Section:
    """Both masks side by side, then the positions."""
    drawn = pictures_section(attention.pictures, words)
    figures = [block for block in drawn.blocks if isinstance(block, Figure)] if drawn else []
    masks, positions = figures[:2], figures[2:]
    return section(
        "attention",
        words,
        [
            Prose(words("lab.attention.masks")),
            Beside(masks),
            Prose(words("lab.attention.positions")),
            *positions,
        ],
    )


# --- the mask -----------------------------------------------------------------------------------


def mask_section(task: MaskTask, words: Words) -> Section:
    """Training loss with and without the mask, and what the two models can do afterwards."""
    lead = words(
        "section.mask.lead",
        words=words.number(task.words),
        followers=words.number(task.followers),
        seeds=words.counted(task.seeds, "seed"),
        steps=words.number(task.steps),
        best=_spoken_bits(words, task.best_bits),
        blind=_spoken_bits(words, task.blind_bits),
    )
    written = "\n".join(f"{_mask_name(words, arm)}\n  {arm.written}" for arm in task.arms)
    blocks: list[Block] = [
        _curves(task, words),
        _mask_table(task, words),
        Prose(mask_answer(task, words, "lab.mask")),
        Code(words("lab.mask.written"), written),
    ]
    return Section("mask", words("section.mask.title"), lead, blocks)


def mask_answer(task: MaskTask, words: Words, where: str) -> str:
    """What the mask task comes to; the word for it depends on how clear it is."""
    masked = next(arm for arm in task.arms if arm.has_mask)
    bare = next(arm for arm in task.arms if not arm.has_mask)
    is_clear = bare.past_bits.low > masked.past_bits.high and bare.past_bits.mean > task.blind_bits
    places = {
        "whole": _spoken_bits(words, bare.whole_bits.mean),
        "past": _spoken_bits(words, bare.past_bits.mean),
        "blind": _spoken_bits(words, task.blind_bits),
        "masked": _spoken_bits(words, masked.past_bits.mean),
        "possible": words.percent(bare.possible.mean, 0),
        "masked_possible": words.percent(masked.possible.mean, 0),
    }
    if where == "lab.answer":
        return words(f"lab.answer.mask{'' if is_clear else '_unclear'}", **places)
    return words(f"lab.mask.{'broken' if is_clear else 'unclear'}", **places)


def _curves(task: MaskTask, words: Words) -> Figure:
    title, caption = words("lab.mask.curve_title"), words("lab.mask.curve_caption")
    svg = line_chart(
        [
            Series(
                _mask_name(words, arm),
                [Point(point.step, point.mean, point.low, point.high) for point in arm.curve],
                WITH if arm.has_mask else WITHOUT,
            )
            for arm in task.arms
        ],
        ident="mask-chart",
        title=title,
        description=caption,
        x_label=words("lab.mask.x"),
        y_label=words("lab.mask.y"),
        y_percent=False,
        reference_lines=[
            (words("lab.mask.blind"), round(task.blind_bits, 2)),
            (words("lab.mask.best"), round(task.best_bits, 2)),
        ],
        words=chart_words(words),
    )
    rows = [
        [
            cell(_mask_name(words, arm), arm.has_mask),
            cell(words.number(point.step), point.step),
            *_bits_cells(words, point),
        ]
        for arm in task.arms
        for point in arm.curve
    ]
    columns = [
        text_column(words("lab.mask.column_model"), "has_mask"),
        number_column(words("column.step"), "step"),
        number_column(words("lab.mask.y"), "bits"),
        number_column(words("column.interval"), "low", "high"),
    ]
    table = Table("mask_curve", title, columns, rows)
    return Figure("mask-chart", title, caption, svg, table)


def _mask_table(task: MaskTask, words: Words) -> Table:
    rows = [
        [
            cell(_mask_name(words, arm), arm.has_mask),
            *_bits_cells(words, arm.whole_bits),
            *_bits_cells(words, arm.past_bits),
            percent_cell(words, arm.possible.mean),
            interval_cell(words, arm.possible),
        ]
        for arm in task.arms
    ]
    interval = words("column.interval")
    columns = [
        text_column(words("lab.mask.column_model"), "has_mask"),
        number_column(words("lab.mask.column_whole"), "whole_bits"),
        number_column(interval, "whole_low", "whole_high"),
        number_column(words("lab.mask.column_past"), "past_bits"),
        number_column(interval, "past_low", "past_high"),
        number_column(words("lab.mask.column_possible"), "possible"),
        number_column(interval, "possible_low", "possible_high"),
    ]
    return Table("mask", words("lab.mask.table"), columns, rows)


def _mask_name(words: Words, arm: MaskArm) -> str:
    return words("lab.mask.with" if arm.has_mask else "lab.mask.without")


# --- the positions ------------------------------------------------------------------------------


def positions_section(order: OrderTask, chain: ChainTask, words: Words) -> Section:
    """Which word comes first, then a language in which order matters."""
    lead = words(
        "section.positions.lead",
        tokens=words.number(order.tokens),
        seeds=words.counted(order.seeds, "seed"),
        steps=words.number(order.steps),
        texts=words.number(order.texts),
    )
    blocks: list[Block] = [
        _order_figure(order, words),
        Prose(order_answer(order, words, "lab.order")),
        Prose(words("lab.chain.set_up", words=words.number(chain.words))),
        _chain_figure(chain, words),
        Prose(_chain_answer(chain, words)),
    ]
    return Section("positions", words("section.positions.title"), lead, blocks)


def order_answer(task: OrderTask, words: Words, where: str) -> str:
    """What the order task comes to; the word for it depends on how clear it is."""
    found = {(arm.reading, arm.has_positions): arm.accuracy for arm in task.arms}
    placed, bare = found["bidirectional", True], found["bidirectional", False]
    is_clear = placed.low > bare.high and bare.low <= 0.5 <= bare.high
    places = {
        "with": words.percent(placed.mean),
        "without": words.percent(bare.mean),
        "causal_without": words.percent(found["causal", False].mean),
    }
    if where == "lab.answer":
        return words(f"lab.answer.positions{'' if is_clear else '_unclear'}", **places)
    return words(f"lab.order.{'broken' if is_clear else 'unclear'}", **places)


def _order_figure(task: OrderTask, words: Words) -> Figure:
    title, caption = words("lab.order.title"), words("lab.order.caption")
    svg = interval_chart(
        [
            _interval_row(_order_name(words, arm), arm.accuracy, arm.has_positions)
            for arm in task.arms
        ],
        ident="order-chart",
        title=title,
        description=caption,
        x_label=words("lab.order.x"),
        words=chart_words(words),
    )
    rows = [
        [
            cell(_order_name(words, arm), f"{arm.reading} {arm.has_positions}"),
            percent_cell(words, arm.accuracy.mean),
            interval_cell(words, arm.accuracy),
        ]
        for arm in task.arms
    ]
    columns = [
        text_column(words("lab.order.column_model"), "model"),
        number_column(words("column.accuracy"), "accuracy"),
        number_column(words("column.interval"), "low", "high"),
    ]
    table = Table("order", words("lab.order.table"), columns, rows)
    return Figure("order-chart", title, caption, svg, table)


def _order_name(words: Words, arm: OrderArm) -> str:
    return words(f"lab.order.{arm.reading}_{'with' if arm.has_positions else 'without'}")


def _chain_figure(task: ChainTask, words: Words) -> Figure:
    title, caption = words("lab.chain.title"), words("lab.chain.caption")
    named = [
        (words("lab.chain.with" if arm.has_positions else "lab.chain.without"), arm)
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
                IntervalRow(words(f"lab.chain.{who}"), bits, bits, bits, [], KNOWN)
                for who, bits in known.items()
            ),
        ],
        ident="chain-chart",
        title=title,
        description=caption,
        x_label=words("lab.chain.x"),
        percent=False,
        words=chart_words(words),
    )
    none = cell(words("number.none"), None, None)
    rows = [
        *([cell(name, arm.has_positions), *_bits_cells(words, arm.bits)] for name, arm in named),
        *(
            [cell(words(f"lab.chain.{who}")), cell(_bits(words, bits), bits), none]
            for who, bits in known.items()
        ),
    ]
    columns = [
        text_column(words("lab.chain.column_model"), "model"),
        number_column(words("lab.chain.column_bits"), "bits"),
        number_column(words("column.interval"), "low", "high"),
    ]
    table = Table("chain", words("lab.chain.table"), columns, rows)
    return Figure("chain-chart", title, caption, svg, table)


def _chain_answer(task: ChainTask, words: Words) -> str:
    placed = next(arm.bits for arm in task.arms if arm.has_positions)
    bare = next(arm.bits for arm in task.arms if not arm.has_positions)
    places = {
        "with": _spoken_bits(words, placed.mean),
        "without": _spoken_bits(words, bare.mean),
    }
    return words(f"lab.chain.{'worse' if bare.low > placed.high else 'unclear'}", **places)


# --- cells --------------------------------------------------------------------------------------


def _interval_row(name: str, found: Estimate, is_whole: bool) -> IntervalRow:
    style = WITH if is_whole else WITHOUT
    return IntervalRow(name, found.mean, found.low, found.high, found.values, style)


def _spoken_bits(words: Words, bits: float) -> str:
    form = "one" if is_singular(bits, words.language) else "many"
    return f"{_bits(words, bits)}{NO_BREAK}{words(f'counted.bit.{form}')}"


def _bits(words: Words, bits: float) -> str:
    return words.decimal(bits, 2)


def _bits_cells(words: Words, found: Estimate | CurvePoint) -> list[Cell]:
    interval = words.interval(_bits(words, found.low), _bits(words, found.high))
    return [cell(_bits(words, found.mean), found.mean), cell(interval, found.low, found.high)]
