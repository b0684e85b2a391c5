from __future__ import annotations

from typing import Any

import pytest
import torch

from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference.fill import fill
from greffe.model.model import Model
from greffe.objectives.objective import objectives_with


def favour(model: Model, amount: float, *ids: int) -> None:
    """Raise the scores of these tokens, the first one most."""
    with torch.no_grad():
        for rank, number in enumerate(ids):
            model.vocabulary_head("masked_token").bias[number] = amount - 2 * rank


def known(tokenizer: Tokenizer, piece: str) -> int:
    number = tokenizer.id_of(piece)
    assert number is not None, piece
    return number


def inner_piece(tokenizer: Tokenizer) -> int:
    """A piece of letters that does not begin a word."""
    return next(
        number
        for number in range(tokenizer.size)
        if not tokenizer.starts_word[number] and tokenizer.piece(number).isalpha()
    )


def test_the_likely_word_fills_the_gap(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("masked_token", context=64)
    favour(model, 1e3, known(tiny_tokenizer, "▁livre"))
    [[filling]] = fill(model, tiny_tokenizer, "Ce <mask> est beau.", top=1)
    assert filling.word == "livre"
    assert filling.text == "Ce livre est beau."
    assert filling.probability == pytest.approx(1)


def test_the_row_is_the_text_with_one_piece_hidden(
    make_model: Any, tiny_tokenizer: Tokenizer, watch: Any
) -> None:
    model = make_model("masked_token", context=64)
    ids = tiny_tokenizer.encode("Ce livre est beau.")
    hidden = ids.index(known(tiny_tokenizer, "▁livre"))
    ids[hidden] = tiny_tokenizer.mask
    with watch(model) as calls:
        fill(model, tiny_tokenizer, "Ce <mask> est beau.")
    assert [call["ids"][0].tolist() for call in calls] == [
        [tiny_tokenizer.sos, *ids, tiny_tokenizer.eos]
    ]
    assert calls[0]["causal"] is False


def test_probabilities_are_of_the_softmax_over_the_vocabulary(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("masked_token", context=64)
    [fillings] = fill(model, tiny_tokenizer, "Le film <mask>", top=4)
    ids = [tiny_tokenizer.sos, *tiny_tokenizer.encode("Le film"), tiny_tokenizer.mask]
    row = torch.tensor([[*ids, tiny_tokenizer.eos]])
    with torch.no_grad():
        probabilities = model.eval()(row, "masked_token", causal=False)[0, -2].double().softmax(0)
    found = [filling.probability for filling in fillings]
    assert found == sorted(found, reverse=True)
    for filling in fillings:
        number = known(tiny_tokenizer, f"▁{filling.word}")
        assert filling.probability == pytest.approx(float(probabilities[number]), rel=1e-4)


def test_after_a_space_only_pieces_that_begin_a_word(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("masked_token", context=64)
    inner, word = inner_piece(tiny_tokenizer), known(tiny_tokenizer, "▁livre")
    favour(model, 1e3, inner, word)
    assert fill(model, tiny_tokenizer, "Ce <mask>", top=1)[0][0].text == "Ce livre"
    assert fill(model, tiny_tokenizer, "<mask> est", top=1)[0][0].text == "livre est"
    # The better piece was skipped, but not removed: it keeps its probability.
    assert fill(model, tiny_tokenizer, "Ce <mask>", top=1)[0][0].probability < 0.5


def test_right_after_letters_any_piece_fits(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("masked_token", context=64)
    inner, word = inner_piece(tiny_tokenizer), known(tiny_tokenizer, "▁livre")
    favour(model, 1e3, inner, word)
    [[first, second]] = fill(model, tiny_tokenizer, "anti<mask>.", top=2)
    assert first.word == tiny_tokenizer.piece(inner)
    assert first.text == f"anti{first.word}."
    assert (second.word, second.text) == ("livre", "anti livre.")


def test_specials_bytes_and_bare_spaces_never_fill(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("masked_token", context=64)
    useless = [*range(5), known(tiny_tokenizer, "<0x41>"), known(tiny_tokenizer, "▁")]
    favour(model, 1e3, *useless)
    for text in ("Ce <mask>", "Ce<mask>", "<mask>"):
        fillings = fill(model, tiny_tokenizer, text, top=tiny_tokenizer.size)[0]
        words = [filling.word for filling in fillings]
        assert words
        assert all(word and not word.startswith(("<0x", "<sos", "<mask")) for word in words)


def test_each_mask_has_its_own_list_and_leaves_the_others(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_model("masked_token", context=64)
    favour(model, 1e3, known(tiny_tokenizer, "▁livre"))
    lists = fill(model, tiny_tokenizer, "Ce <mask> est <mask>.", top=3)
    assert [len(fillings) for fillings in lists] == [3, 3]
    assert lists[0][0].text == "Ce livre est <mask>."
    assert lists[1][0].text == "Ce <mask> est livre."


def test_adjacent_masks(make_model: Any, tiny_tokenizer: Tokenizer, watch: Any) -> None:
    model = make_model("masked_token", context=64)
    inner = inner_piece(tiny_tokenizer)
    favour(model, 1e3, inner, known(tiny_tokenizer, "▁livre"))
    with watch(model) as calls:
        lists = fill(model, tiny_tokenizer, "<mask> <mask><mask>", top=1)
    mask = tiny_tokenizer.mask
    row = [tiny_tokenizer.sos, mask, mask, mask, tiny_tokenizer.eos]
    assert calls[0]["ids"].tolist() == [row]
    assert [fillings[0].text for fillings in lists] == [
        "livre <mask><mask>",
        "<mask> livre<mask>",
        f"<mask> <mask>{tiny_tokenizer.piece(inner)}",
    ]


def test_long_texts_are_read_in_a_window_around_each_mask(
    make_model: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str], watch: Any
) -> None:
    model = make_model("masked_token", context=16)
    filler = " ".join(tiny_texts[:10])
    text = f"<mask> {filler} <mask> {filler} <mask>"
    with watch(model) as calls:
        lists = fill(model, tiny_tokenizer, text)
    rows = [call["ids"][0].tolist() for call in calls]
    assert len(lists) == len(rows) == 3
    assert all(len(row) == 16 and row.count(tiny_tokenizer.mask) == 1 for row in rows)
    assert all(row[0] == tiny_tokenizer.sos and row[-1] == tiny_tokenizer.eos for row in rows)
    assert [row.index(tiny_tokenizer.mask) for row in rows] == [1, 8, 14]


def test_masks_of_one_window_are_read_once(
    make_model: Any, tiny_tokenizer: Tokenizer, watch: Any
) -> None:
    model = make_model("masked_token", context=64)
    with watch(model) as calls:
        fill(model, tiny_tokenizer, "Le <mask> est <mask> et <mask>.")
    assert len(calls) == 1


def test_model_goes_back_to_training(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("masked_token", context=64)
    first = fill(model, tiny_tokenizer, "Ce <mask>")
    assert model.training
    assert fill(model, tiny_tokenizer, "Ce <mask>") == first


def test_text_without_a_mask_is_an_error_with_an_example(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    with pytest.raises(InputError, match="no <mask>") as caught:
        fill(make_model("masked_token"), tiny_tokenizer, "Ce livre est beau.")
    assert "Ce livre est <mask>." in str(caught.value.hint)


def test_a_model_without_the_head_says_which_objectives_fill(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    with pytest.raises(InputError, match="cannot fill") as caught:
        fill(make_model("next_token"), tiny_tokenizer, "Ce <mask>")
    assert objectives_with("masked_token") in str(caught.value.hint)


def test_top_below_one_is_an_error(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="Invalid top"):
        fill(make_model("masked_token"), tiny_tokenizer, "Ce <mask>", top=0)
