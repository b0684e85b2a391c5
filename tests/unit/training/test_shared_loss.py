"""Two processes train as one does: heads that a rank does not use, parts, freezing, no rows."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch

Ranks = Callable[..., list[tuple[str, str]]]

TRAINING = """
import json, os, sys
import torch
from greffe.config.sections import ModelSpec, TrainSpec
from greffe.data.batches import Batch
from greffe.model.adapters import add_adapters, start_adapters
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import build_model
from greffe.objectives.objective import Objective, vocabulary_term
from greffe.training.distributed import World
from greffe.training.loop import train
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget, Clock

class Terms(Objective):
    def __init__(self, names):
        self.names = names

    @property
    def weights(self):
        return {name: 1.0 + number for number, name in enumerate(self.names)}

    def loss(self, model, batch):
        return {
            name: vocabulary_term(model, name, batch, causal=name == "next_token")
            for name in batch.counts
        }

def batch(seed, *names):
    ids = torch.randint(40, (3, 6), generator=torch.Generator().manual_seed(seed))
    indices = torch.arange(0, 18, 2)
    return Batch(ids, dict.fromkeys(names, 9.0), targets=ids.view(-1)[indices], indices=indices)

BOTH = ("next_token", "masked_token")
PLANS = {
    "heads": [  # of each step, the parts of the first and of the second rank
        ([batch(1, "next_token"), batch(2, "next_token")], [batch(3, "masked_token")]),
        ([batch(4, "masked_token"), batch(5, "next_token")], [batch(6, *BOTH)]),
        ([batch(7, "next_token")], [batch(8, "next_token")]),
        ([batch(9, *BOTH)], [batch(10, *BOTH)]),
    ],
    "rows": [
        ([batch(1, "next_token")], []),
        ([], [batch(2, "next_token"), batch(3, "next_token")]),
        ([batch(4, "next_token")], [batch(5, "next_token")]),
    ],
}

def run(plan, parts, world, way):
    steps = PLANS[plan]
    names = BOTH if plan == "heads" else ("next_token",)
    heads = {"next_token": NextTokenHead(), "masked_token": MaskedTokenHead(tied=False)}
    spec = ModelSpec(width=8, layers=2, heads=2, feed_forward=16, context=8)
    kept = {name: heads[name] for name in names}
    model = build_model(spec, 40, kept, seed=0)
    changes = {"unfreezing": {"gradual_unfreezing": True}, "lora": {"lora": {"rank": 2}}}
    choices = TrainSpec(lr=1e-2, warmup=0.0, weight_decay=0.1, **changes.get(way, {}))
    if choices.lora.rank:
        add_adapters(model.base.blocks, choices.lora)
        start_adapters(model, seed=0)
    optimizer = build_optimizer(model, choices, 2)
    budget = Budget.parse(f"{len(steps)}steps", steps_per_epoch=1)
    made = train(
        model, Terms(names), optimizer, lambda step: parts(steps[step]),
        spec=choices, budget=budget, seed=0, start=Clock(), world=world,
    )
    norms = [step.gradient_norm for step in made]
    weights = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
    counts = {n: float(optimizer.state[p]["step"]) for n, p in model.named_parameters()
              if p in optimizer.state}
    return {"norms": norms, "weights": weights, "counts": counts}
"""

RANK = (
    TRAINING
    + """
world = World.join()
found = run(sys.argv[1], lambda pair: pair[world.rank], world, sys.argv[2])
world.leave()
print(json.dumps(found))
"""
)


@pytest.mark.parametrize("way", ["whole", "unfreezing", "lora"])
@pytest.mark.parametrize("plan", ["heads", "rows"])
def test_two_ranks_train_as_one(two_ranks: Ranks, plan: str, way: str) -> None:
    code: dict[str, object] = {}
    exec(TRAINING, code)
    alone = code["run"](plan, lambda pair: [*pair[0], *pair[1]], code["World"](), way)
    outputs = two_ranks(RANK, plan, way)
    for answer, shown in outputs:
        assert shown == "", shown
        found = json.loads(answer)
        assert found["norms"] == pytest.approx(alone["norms"], rel=1e-4)
        # A head that no rank used has no gradient, so that nothing decays.
        assert found["counts"] == alone["counts"]
        for name, values in alone["weights"].items():
            both = torch.tensor(found["weights"][name])
            torch.testing.assert_close(both, torch.tensor(values), rtol=1e-3, atol=2e-5)
    assert outputs[0][0] == outputs[1][0]


LOST = (
    TRAINING
    + """
from greffe.cli import main

class Ending(Terms):
    def loss(self, model, batch):
        found = super().loss(model, batch)
        if World.join().rank == 1 and next(calls) == 1:
            os._exit(9)
        return found

calls = iter(range(9))
Terms = Ending

def lose():
    world = World.join()
    run("heads", lambda pair: pair[world.rank], world, False)
    print("never")

sys.modules["greffe.cli.main"].app = lambda prog_name: lose()
main()
"""
)


def test_a_rank_that_ends_within_a_step_is_one_error(two_ranks: Ranks) -> None:
    found, shown = two_ranks(LOST.replace("super()", "super(Ending, self)"))[0]
    assert found == "" and "Traceback" not in shown, shown
    assert shown.count("error: ") == 1 and "process of this training has ended" in shown
