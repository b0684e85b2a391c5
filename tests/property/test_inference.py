from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.inference.generate import generate, stream_text, window_start
from greffe.inference.predict import classify_logits
from greffe.inference.prediction import split_windows
from greffe.inference.sampling import Sampling, sample
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.model.positions.alibi import Alibi
from greffe.model.positions.learned import Learned
from greffe.model.positions.none import NoPosition
from greffe.model.positions.rotary import Rotary
from greffe.model.positions.sinusoidal import Sinusoidal
from greffe.seeding import derive

POSITIONS: list[PositionSpec] = [Rotary(), Sinusoidal(), Learned(), Alibi(), NoPosition()]


def lively_model(vocab: int, position: PositionSpec, seed: int, context: int = 12) -> Model:
    """A small model whose scores are far apart: rounding cannot change their order."""
    spec = ModelSpec(
        width=8, layers=2, heads=2, feed_forward=16, context=context, position=position
    )
    heads = {
        "next_token": NextTokenHead(),
        "classification": ClassificationHead(classes=3, pooler="mean+max"),
    }
    model = build_model(spec, vocab, heads, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(20)
    return model


@given(
    position=st.sampled_from(POSITIONS),
    prompt=st.text(max_size=20),
    seed=st.integers(0, 1000),
    temperature=st.sampled_from([0.0, 0.5, 1.2]),
    top_k=st.sampled_from([0, 1, 7]),
    top_p=st.sampled_from([0.5, 1.0]),
    penalty=st.sampled_from([0.8, 1.0, 1.3]),
)
@settings(deadline=None, max_examples=25)
def test_cached_generation_equals_recomputation(
    tiny_tokenizer: Tokenizer,
    position: PositionSpec,
    prompt: str,
    seed: int,
    temperature: float,
    top_k: int,
    top_p: float,
    penalty: float,
) -> None:
    model = lively_model(tiny_tokenizer.size, position, seed)
    sampling = Sampling(temperature, top_k, top_p, penalty)
    found = list(
        generate(
            model,
            tiny_tokenizer,
            prompt,
            tokens=20,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            repetition_penalty=penalty,
            seed=seed,
        )
    )
    ids = [tiny_tokenizer.sos, *tiny_tokenizer.encode(prompt)]
    banned = [tiny_tokenizer.sos, tiny_tokenizer.pad, tiny_tokenizer.oov, tiny_tokenizer.mask]
    expected: list[int] = []
    start = 0
    for step in range(20):
        start = window_start(start, len(ids) + len(expected), model.spec.context)
        row = torch.tensor([[*ids, *expected][start:]])
        with torch.no_grad():
            scores = model(row, "next_token", causal=True)[0, -1]
        generator = torch.Generator().manual_seed(derive(seed, "generate", step))
        chosen = sample(scores, [*ids, *expected], banned, sampling, generator)
        if chosen == tiny_tokenizer.eos:
            break
        expected.append(chosen)
    assert found == expected


@given(prompt=st.text(max_size=20), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_streamed_pieces_join_to_the_decoded_whole(
    tiny_tokenizer: Tokenizer, prompt: str, seed: int
) -> None:
    model = lively_model(tiny_tokenizer.size, Rotary(), seed=0)
    new = list(generate(model, tiny_tokenizer, prompt, tokens=12, temperature=2.0, seed=seed))
    pieces = stream_text(model, tiny_tokenizer, prompt, tokens=12, temperature=2.0, seed=seed)
    text = "".join(pieces)
    assert text == tiny_tokenizer.decode([*tiny_tokenizer.encode(prompt), *new])
    assert text.startswith(tiny_tokenizer.normalize(prompt))


@given(
    scores=st.lists(st.floats(-50, 50, width=32), min_size=3, max_size=40),
    top_k=st.integers(1, 50),
    top_p=st.floats(0.01, 1),
    temperature=st.floats(0, 5),
    seed=st.integers(0, 100),
)
@settings(deadline=None, max_examples=150)
def test_drawn_tokens_are_among_the_best_and_not_banned(
    scores: list[float], top_k: int, top_p: float, temperature: float, seed: int
) -> None:
    sampling = Sampling(temperature, top_k, top_p, 1.0)
    generator = torch.Generator().manual_seed(seed)
    chosen = sample(torch.tensor(scores), [], [0, 1], sampling, generator)
    assert chosen >= 2
    better = sum(score > scores[chosen] for score in scores[2:])
    assert better < (1 if temperature == 0 else top_k)


@given(size=st.integers(0, 500), room=st.integers(1, 60))
@settings(deadline=None)
def test_windows_cover_every_token_once_in_equal_parts(size: int, room: int) -> None:
    ids = np.arange(size)
    parts = split_windows(ids, room, "windows")
    sizes = [len(part) for part in parts]
    assert np.array_equal(np.concatenate(parts), ids)
    assert max(sizes) <= room
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == max(1, -(-size // room))


@given(
    lengths=st.lists(st.integers(2, 12), min_size=1, max_size=20),
    batch_tokens=st.integers(1, 100),
    causal=st.booleans(),
    position=st.sampled_from(POSITIONS),
)
@settings(deadline=None, max_examples=30)
def test_batching_never_alters_a_score(
    lengths: list[int], batch_tokens: int, causal: bool, position: PositionSpec
) -> None:
    draw = np.random.default_rng(sum(lengths))
    rows = [draw.integers(0, 50, length) for length in lengths]
    model = lively_model(50, position, seed=0)
    together = classify_logits(model, rows, 1, causal, batch_tokens)
    single = torch.cat([classify_logits(model, [row], 1, causal) for row in rows])
    assert torch.allclose(together, single, atol=1e-4, rtol=1e-4)
