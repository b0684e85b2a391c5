"""Hidden tokens: how many, which, by what; and that only they are predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.masked import Masked
from greffe.objectives.masking import Masker
from greffe.seeding import rng

Make = Callable[..., Any]


def ordinary(masker: Masker, ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return ~np.isin(ids, masker.specials)


@pytest.mark.parametrize("ratio", [0.01, 0.15, 0.3, 0.5, 0.99])
def test_the_number_of_hidden_tokens_is_exact(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, ratio: float
) -> None:
    masker = Masker(Masked(ratio=ratio), tiny_tokenizer)
    for number, row in enumerate(tiny_rows.ids):
        hidden, places = masker.hide(row, rng(0, "x", number))
        count = int(ordinary(masker, row).sum())
        assert len(places) == max(1, round(ratio * count))
        assert sorted(set(places)) == places.tolist()
        untouched = np.setdiff1d(np.arange(len(row)), places)
        assert np.array_equal(hidden[untouched], row[untouched])


@pytest.mark.parametrize("whole_word", [False, True])
def test_specials_are_never_chosen_and_never_put_in(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, whole_word: bool
) -> None:
    spec = Masked(ratio=0.9, mask=0.0, random=1.0, whole_word=whole_word)
    masker = Masker(spec, tiny_tokenizer)
    assert len(masker.specials) == 5
    for number, row in enumerate(tiny_rows.ids):
        hidden, places = masker.hide(row, rng(0, "x", number))
        assert not np.isin(row[places], masker.specials).any()
        assert not np.isin(hidden[places], masker.specials).any()


def test_shares_stray_by_at_most_one_a_row(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows
) -> None:
    masker = Masker(Masked(ratio=0.5), tiny_tokenizer)
    for number, row in enumerate(tiny_rows.ids):
        hidden, places = masker.hide(row, rng(3, "x", number))
        masks = int((hidden[places] == tiny_tokenizer.mask).sum())
        kept = int((hidden[places] == row[places]).sum())
        assert abs(masks - 0.8 * len(places)) < 1
        assert kept >= np.floor(0.1 * len(places) + 1e-9)
        # A random token may equal the true one by chance, rarely.
        assert kept <= 0.1 * len(places) + 2


def test_shares_are_right_over_many_rows_even_where_few_are_hidden(
    tiny_tokenizer: Tokenizer,
) -> None:
    masker = Masker(Masked(ratio=0.15), tiny_tokenizer)
    row = np.arange(300, 314, dtype=np.int64)  # two of fourteen
    kinds = {"mask": 0, "kept": 0, "random": 0}
    chosen = np.zeros(14)
    rows = 6000
    for number in range(rows):
        hidden, places = masker.hide(row, rng(1, "x", number))
        chosen[places] += 1
        for place in places:
            found = int(hidden[place])
            kind = "mask" if found == tiny_tokenizer.mask else "random"
            kinds["kept" if found == row[place] else kind] += 1
    total = 2 * rows
    assert sum(kinds.values()) == total
    assert kinds["mask"] / total == pytest.approx(0.8, abs=0.015)
    assert kinds["random"] / total == pytest.approx(0.1, abs=0.012)
    assert kinds["kept"] / total == pytest.approx(0.1, abs=0.012)
    # Every place is as likely as any other, and hidden by <mask> as often.
    assert chosen / rows == pytest.approx(np.full(14, 2 / 14), abs=0.025)


def test_random_tokens_come_from_the_whole_vocabulary(tiny_tokenizer: Tokenizer) -> None:
    masker = Masker(Masked(ratio=0.99, mask=0.0, random=1.0), tiny_tokenizer)
    row = np.full(200, 300, dtype=np.int64)
    found = np.concatenate([masker.hide(row, rng(0, "x", n))[0] for n in range(60)])
    assert len(np.unique(found)) > 0.95 * len(masker.replacements)


def test_whole_words_are_hidden_whole(tiny_tokenizer: Tokenizer, tiny_rows: PackedRows) -> None:
    masker = Masker(Masked(ratio=0.3, mask=1.0, random=0.0, whole_word=True), tiny_tokenizer)
    several = 0
    for number, row in enumerate(tiny_rows.ids):
        _, places = masker.hide(row, rng(0, "x", number))
        words = np.cumsum(tiny_tokenizer.starts_word[row])
        for word in np.unique(words[places]):
            members = np.flatnonzero((words == word) & ordinary(masker, row))
            assert np.isin(members, places).all()
            several += len(members) > 1
        wanted = round(0.3 * int(ordinary(masker, row).sum()))
        assert 1 <= len(places) <= wanted
        # The next word did not fit, and none is longer than a dozen pieces.
        assert len(places) > wanted - 12
    assert several > 30


def test_one_long_word_is_hidden_although_it_is_too_long(tiny_tokenizer: Tokenizer) -> None:
    masker = Masker(Masked(whole_word=True), tiny_tokenizer)
    pieces = np.flatnonzero(~tiny_tokenizer.starts_word)[:20].astype(np.int64)
    _, places = masker.hide(pieces, rng(0, "x"))
    assert places.tolist() == list(range(20))


def test_every_row_has_something_to_predict(
    tiny_tokenizer: Tokenizer, pack: Make, make_rows: Make
) -> None:
    objective = Masked(ratio=0.01).build(tiny_tokenizer, tied=True)
    batch = objective.prepare(make_rows(pack([[300], [301, 302]], 8)))
    assert batch.counts == {"masked_token": 1}
    assert batch.targets is not None and int(batch.targets[0]) in (300, 301, 302)


def test_a_row_of_specials_alone_gives_no_nan(
    tiny_tokenizer: Tokenizer, pack: Make, make_rows: Make, make_model: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=True)
    batch = objective.prepare(make_rows(pack([[], []], 8)))
    assert batch.counts == {"masked_token": 0}
    loss = objective.loss(make_model(objective.heads()), batch)["masked_token"]
    assert float(loss.detach()) == 0.0


def test_hiding_is_a_function_of_the_stream(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows
) -> None:
    masker = Masker(Masked(), tiny_tokenizer)
    before = tiny_rows.ids.copy()

    def hide(seed: int) -> list[list[int]]:
        streams = [rng(seed, "x", number) for number in range(len(before))]
        return [part.tolist() for part in masker.hide_rows(tiny_rows.ids, streams)]

    assert hide(0) == hide(0) != hide(1)
    assert np.array_equal(tiny_rows.ids, before)


def test_targets_are_what_stood_at_the_places(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=True)
    batch = objective.prepare(make_rows(tiny_rows))
    assert batch.targets is not None and batch.indices is not None
    original = torch.from_numpy(tiny_rows.ids).reshape(-1)
    assert torch.equal(original[batch.indices], batch.targets)
    restored = batch.ids.reshape(-1).clone()
    restored[batch.indices] = batch.targets
    assert torch.equal(restored, original)
    sizes = tiny_tokenizer.token_bytes[batch.targets.numpy()]
    assert batch.target_bytes == {"masked_token": int(sizes.sum())}


def test_the_loss_is_the_plain_cross_entropy_at_the_places(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=False)
    model = make_model(objective.heads())
    batch = objective.prepare(make_rows(tiny_rows))
    scores = model(
        batch.ids,
        "masked_token",
        causal=False,
        lengths=batch.lengths,
        documents=batch.documents,
        positions=batch.positions,
    )
    assert batch.targets is not None
    expected = F.cross_entropy(scores.flatten(0, 1)[batch.indices], batch.targets, reduction="sum")
    assert torch.allclose(objective.loss(model, batch)["masked_token"], expected, rtol=1e-5)


def test_only_hidden_places_go_through_the_head(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=True)
    model = make_model(objective.heads())
    batch = objective.prepare(make_rows(tiny_rows))
    seen: list[int] = []
    head = model.vocabulary_head("masked_token")
    head.transform.register_forward_pre_hook(lambda module, args: seen.append(len(args[0])))
    objective.loss(model, batch)
    assert seen == [batch.counts["masked_token"]]
