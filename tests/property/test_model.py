from __future__ import annotations

from functools import cache

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.attention import Cache
from greffe.model.base import Base
from greffe.model.model import build_model

torch.set_num_threads(1)

VOCAB, CONTEXT = 23, 32
SCHEMES = [kind() for kind in list(PositionSpec.kinds().values())]


@cache
def lively_base(position: PositionSpec, norm: str) -> Base:
    """A base in double precision whose weights are large enough for any leak to show."""
    spec = ModelSpec(
        width=8, heads=2, layers=2, feed_forward=12, context=CONTEXT, position=position, norm=norm
    )
    base = build_model(spec, VOCAB, {}, seed=0).base.double().eval()
    generator = torch.Generator().manual_seed(1)
    for parameter in base.parameters():
        parameter.data.normal_(0, 0.6, generator=generator)
        parameter.requires_grad_(False)
    return base


bases = st.builds(lively_base, st.sampled_from(SCHEMES), st.sampled_from(["pre", "post"]))
tokens = st.integers(0, VOCAB - 1)


def rows_of(smallest: int, largest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(tokens, min_size=smallest, max_size=largest)


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=80)
@given(base=bases, row=rows_of(1, 20), data=st.data())
def test_changing_a_token_never_alters_a_causal_output_before_it(base, row, data):
    index = data.draw(st.integers(0, len(row) - 1))
    other = list(row)
    other[index] = data.draw(tokens.filter(lambda token: token != row[index]))
    before, after = (base(torch.tensor([ids]), causal=True) for ids in (row, other))
    same(after[:, :index], before[:, :index])
    assert not torch.allclose(after[:, index], before[:, index])


@settings(deadline=None, max_examples=80)
@given(
    base=bases,
    causal=st.booleans(),
    rows=st.lists(rows_of(0, 12), min_size=1, max_size=4),
    filler=tokens,
    extra=st.integers(1, 6),
)
def test_padding_and_other_rows_never_alter_an_output(base, causal, rows, filler, extra):
    longest = max(map(len, rows)) + extra
    ids = torch.tensor([row + [filler] * (longest - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    hidden = base(ids, causal=causal, lengths=lengths)
    assert hidden.isfinite().all()
    for row, states in zip(rows, hidden, strict=True):
        if row:
            same(states[: len(row)], base(torch.tensor([row]), causal=causal)[0])


@settings(deadline=None, max_examples=80)
@given(
    base=bases,
    causal=st.booleans(),
    documents=st.lists(rows_of(1, 7), min_size=1, max_size=4),
    padding=st.integers(0, 3),
    padding_document=st.integers(-1, 4),
)
def test_neighbours_in_a_packed_row_never_alter_an_output(
    base, causal, documents, padding, padding_document
):
    ids = [token for document in documents for token in document] + [0] * padding
    names = [name for name, document in enumerate(documents) for _ in document]
    names += [padding_document] * padding
    hidden = base(
        torch.tensor([ids]),
        causal=causal,
        lengths=torch.tensor([len(ids) - padding]),
        documents=torch.tensor([names]),
    )[0]
    assert hidden.isfinite().all()
    start = 0
    for document in documents:
        alone = base(torch.tensor([document]), causal=causal)[0]
        same(hidden[start : start + len(document)], alone)
        start += len(document)


@settings(deadline=None, max_examples=80)
@given(
    base=bases,
    rows=st.integers(1, 3),
    pieces=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    capacity=st.integers(0, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_cached_forward_equals_recomputation(base, rows, pieces, capacity, seed):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(VOCAB, (rows, sum(pieces)), generator=generator)
    memory = Cache(layers=len(base.blocks), capacity=capacity)
    parts = [base(piece, causal=True, cache=memory) for piece in ids.split(pieces, dim=1)]
    assert memory.length == sum(pieces)
    same(torch.cat(parts, dim=1), base(ids, causal=True))
