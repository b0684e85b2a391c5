from __future__ import annotations

from typing import Any

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference.generate import generate, generate_text, stream_text, window_start
from greffe.inference.sampling import Sampling, sample
from greffe.model.model import Model
from greffe.objectives.objective import objectives_with
from greffe.seeding import derive

POSITIONS = list(PositionSpec.kinds().values())
PROMPT = "Ce livre est"
GREEDY: dict[str, Any] = {"temperature": 0.0, "repetition_penalty": 1.0}


def favour(model: Model, amount: float, *ids: int) -> None:
    """Raise or lower the scores of these tokens."""
    with torch.no_grad():
        model.vocabulary_head("next_token").bias[list(ids)] = amount


def recomputed(
    model: Model, tokenizer: Tokenizer, prompt: str, tokens: int, seed: int, sampling: Sampling
) -> list[int]:
    """Generation that reads its whole window again for each token."""
    ids = [tokenizer.sos, *tokenizer.encode(prompt)]
    banned = [tokenizer.sos, tokenizer.pad, tokenizer.oov, tokenizer.mask]
    first_new = len(ids)
    start = 0
    model.eval()
    for step in range(tokens):
        start = window_start(start, len(ids), model.spec.context)
        with torch.no_grad():
            scores = model(torch.tensor([ids[start:]]), "next_token", causal=True)[0, -1]
        generator = torch.Generator().manual_seed(derive(seed, "generate", step))
        chosen = sample(scores, ids, banned, sampling, generator)
        if chosen == tokenizer.eos:
            break
        ids.append(chosen)
    model.train()
    return ids[first_new:]


@pytest.mark.parametrize("position", [kind() for kind in POSITIONS], ids=lambda spec: spec.kind)
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_cached_equals_recomputed_across_slides(
    make_model: Any, tiny_tokenizer: Tokenizer, position: PositionSpec, temperature: float
) -> None:
    model = make_model("next_token", position=position)
    favour(model, -1e9, tiny_tokenizer.eos)
    tokens = 3 * model.spec.context
    new = list(
        generate(model, tiny_tokenizer, PROMPT, tokens=tokens, temperature=temperature, seed=5)
    )
    sampling = Sampling(temperature, 0, 0.95, 1.1)
    assert len(new) == tokens
    assert new == recomputed(model, tiny_tokenizer, PROMPT, tokens, 5, sampling)


def test_each_token_is_read_once_until_the_window_slides(
    make_model: Any, tiny_tokenizer: Tokenizer, watch: Any
) -> None:
    model = make_model("next_token", context=16)
    favour(model, -1e9, tiny_tokenizer.eos)
    with watch(model) as calls:
        new = list(generate(model, tiny_tokenizer, "", tokens=26))
    sizes = [call["ids"].shape[1] for call in calls]
    # <sos> and 15 tokens fill the context; the 17th makes it slide to the last eight.
    assert sizes == [1] * 16 + [8] + [1] * 8 + [8]
    assert calls[16]["ids"][0].tolist() == new[8:16]
    assert all(call["causal"] for call in calls)


@pytest.mark.parametrize(
    ("start", "length", "expected"), [(0, 16, 0), (0, 17, 9), (9, 25, 9), (9, 26, 18), (0, 90, 82)]
)
def test_window_slides_to_its_last_half(start: int, length: int, expected: int) -> None:
    assert window_start(start, length, context=16) == expected


def test_prompt_longer_than_the_context(
    make_model: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str]
) -> None:
    model = make_model("next_token")
    prompt = " ".join(tiny_texts[:20])
    assert len(tiny_tokenizer.encode(prompt)) > 4 * model.spec.context
    new = list(generate(model, tiny_tokenizer, prompt, tokens=6, seed=1))
    assert new == recomputed(model, tiny_tokenizer, prompt, 6, 1, Sampling())


def test_same_seed_same_text_and_another_seed_another(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("next_token")
    texts = [generate_text(model, tiny_tokenizer, PROMPT, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_longer_text_begins_like_a_shorter_one(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("next_token")
    favour(model, -1e9, tiny_tokenizer.eos)
    short = list(generate(model, tiny_tokenizer, PROMPT, tokens=5, seed=4))
    long = list(generate(model, tiny_tokenizer, PROMPT, tokens=25, seed=4))
    assert len(short) == 5
    assert long[:5] == short


def test_top_k_of_one_is_greedy(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("next_token")
    best = list(generate(model, tiny_tokenizer, PROMPT, temperature=0))
    assert best == list(generate(model, tiny_tokenizer, PROMPT, top_k=1, temperature=1.5, seed=9))


def test_greedy_follows_the_best_scores(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("next_token", context=64)
    favour(model, -1e9, *range(5))
    new = list(generate(model, tiny_tokenizer, PROMPT, tokens=20, **GREEDY))
    ids = torch.tensor([[tiny_tokenizer.sos, *tiny_tokenizer.encode(PROMPT), *new]])
    with torch.no_grad():
        scores = model.eval()(ids, "next_token", causal=True)[0]
    assert scores[-21:-1].argmax(-1).tolist() == new


def test_ends_before_end_of_text(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("next_token")
    favour(model, 1e4, tiny_tokenizer.eos)
    assert list(generate(model, tiny_tokenizer, PROMPT)) == []
    assert generate_text(model, tiny_tokenizer, PROMPT) == PROMPT


def test_specials_are_never_drawn(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("next_token")
    specials = {tiny_tokenizer.sos, tiny_tokenizer.pad, tiny_tokenizer.oov, tiny_tokenizer.mask}
    favour(model, 1e4, *specials)
    new = list(generate(model, tiny_tokenizer, PROMPT, tokens=30, temperature=1, top_p=1))
    assert new
    assert not specials & set(new)


def test_penalty_above_one_ends_repetition(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("next_token")
    word = tiny_tokenizer.encode("livre")[0]
    favour(model, 30.0, word)
    stuck = list(generate(model, tiny_tokenizer, "", tokens=8, **GREEDY))
    assert stuck == [word] * 8
    freed = list(
        generate(model, tiny_tokenizer, "", tokens=8, temperature=0, repetition_penalty=50)
    )
    assert freed.count(word) == 1


@pytest.mark.parametrize(
    "prompt", ["", PROMPT, "  deux espaces ", "日本 🙂", "fin\n", "<mask> & <eos>"]
)
def test_pieces_join_to_the_whole(make_model: Any, tiny_tokenizer: Tokenizer, prompt: str) -> None:
    model = make_model("next_token")
    choices = {"tokens": 60, "temperature": 1.5, "top_p": 1.0, "seed": 2}
    whole = generate_text(model, tiny_tokenizer, prompt, **choices)
    new = list(generate(model, tiny_tokenizer, prompt, **choices))
    assert "".join(stream_text(model, tiny_tokenizer, prompt, **choices)) == whole
    assert whole == tiny_tokenizer.decode([*tiny_tokenizer.encode(prompt), *new])
    assert whole.startswith(prompt)
    assert len(whole) > len(prompt)


def test_space_between_prompt_and_continuation_is_kept(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("next_token")
    word = tiny_tokenizer.id_of("▁livre")
    assert word is not None
    favour(model, 1e4, word)
    assert generate_text(model, tiny_tokenizer, "Le", tokens=2, **GREEDY) == "Le livre livre"
    assert generate_text(model, tiny_tokenizer, "", tokens=2, **GREEDY) == "livre livre"


def test_caller_is_left_in_its_own_mode(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("next_token")
    stream = generate(model, tiny_tokenizer, PROMPT)
    next(stream)
    assert not torch.is_inference_mode_enabled()
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    list(generate(model.eval(), tiny_tokenizer, PROMPT, tokens=2))
    assert not model.training


def test_a_model_without_the_head_says_which_objectives_generate(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    with pytest.raises(InputError, match="cannot generate") as caught:
        generate(make_model("masked_token"), tiny_tokenizer, PROMPT)
    assert caught.value.found == "heads: masked_token"
    assert objectives_with("next_token") in str(caught.value.hint)


@pytest.mark.parametrize(
    "choices",
    [{"tokens": 0}, {"temperature": -1}, {"top_k": -1}, {"top_p": 0}, {"repetition_penalty": 0}],
    ids=str,
)
@pytest.mark.parametrize("function", [generate, stream_text])
def test_bad_values_are_errors_at_the_call(
    make_model: Any, tiny_tokenizer: Tokenizer, choices: dict[str, Any], function: Any
) -> None:
    with pytest.raises(InputError, match=f"Invalid {next(iter(choices))}"):
        function(make_model("next_token"), tiny_tokenizer, PROMPT, **choices)
