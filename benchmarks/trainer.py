"""Hugging Face's Trainer with models of greffe's shapes, timed from the first step to the last.

Trainer's set-up is not timed; validation, saving and logging are off. Everything else is the
default: its sampler, its loop, its optimizer and attention.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import (
    BertConfig,
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from benchmarks.settings import Precision
from benchmarks.synthetic import Ids
from benchmarks.timing import Piece, Stopwatch
from greffe.config.sections import ModelSpec

Example = dict[str, Any]


def be_quiet() -> None:
    """Disable progress bars and warnings of the libraries."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    logging.getLogger("accelerate").setLevel(logging.ERROR)


def gpt2(spec: ModelSpec, vocab: int) -> GPT2LMHeadModel:
    """Return a causal model of this shape, without dropout and generation cache."""
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab,
            n_positions=spec.context,
            n_embd=spec.width,
            n_layer=spec.layers,
            n_head=spec.heads,
            n_inner=spec.feed_forward,
            activation_function=spec.activation,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            tie_word_embeddings=spec.tied,
            use_cache=False,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def bert_config(spec: ModelSpec, vocab: int, **more: Any) -> BertConfig:
    """Return the configuration of a bidirectional model of this shape, without dropout."""
    torch.manual_seed(0)
    return BertConfig(
        vocab_size=vocab,
        hidden_size=spec.width,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        intermediate_size=spec.feed_forward,
        hidden_act=spec.activation,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=spec.context,
        tie_word_embeddings=spec.tied,
        **more,
    )


def collate_rows(examples: Sequence[Example]) -> dict[str, Tensor]:
    """Collate rows of one length."""
    return {name: torch.stack([one[name] for one in examples]) for name in examples[0]}


class PadToLongest:
    """Dynamic padding, as usual with Trainer: each batch is as wide as its longest text."""

    def __init__(self, pad: int) -> None:
        self.pad = pad

    def __call__(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        rows = [torch.from_numpy(one["input_ids"]) for one in examples]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.pad)
        sizes = torch.tensor([len(row) for row in rows])
        return {
            "input_ids": ids,
            "attention_mask": (torch.arange(ids.shape[1]) < sizes[:, None]).long(),
            "labels": torch.tensor([one["labels"] for one in examples]),
        }


def labelled_rows(rows: Sequence[Ids], labels: Sequence[int]) -> list[Example]:
    """Return examples for Trainer."""
    return [{"input_ids": row, "labels": label} for row, label in zip(rows, labels, strict=True)]


class TrainerLoop:
    """A Trainer that is run repeatedly."""

    def __init__(
        self,
        model: nn.Module,
        examples: Sequence[Example],
        collate: Callable[[Sequence[Example]], dict[str, Tensor]],
        scratch: Path,
        *,
        precision: Precision,
        batch: int,
        lr: float,
        clip: float,
        sampling: str = "random",
    ) -> None:
        be_quiet()
        self.model = model
        self.batch = batch
        self._clock = _StepClock()
        self._trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=str(scratch),
                use_cpu=True,
                bf16=precision == "bf16",
                per_device_train_batch_size=batch,
                learning_rate=lr,
                max_grad_norm=clip,
                train_sampling_strategy=sampling,
                eval_strategy="no",
                save_strategy="no",
                logging_strategy="no",
                report_to="none",
                disable_tqdm=True,
                dataloader_num_workers=0,
                dataloader_pin_memory=False,
                remove_unused_columns=False,
            ),
            train_dataset=list(examples),
            data_collator=collate,
            callbacks=[self._clock],
        )
        self._trainer.remove_callback(PrinterCallback)

    def run(self, watch: Stopwatch, *, warmup: int, steps: int) -> Piece:
        """Run `warmup` untimed steps, then time `steps` steps."""
        self._clock.prepare(watch, warmup, warmup + steps)
        self._trainer.args.max_steps = warmup + steps
        self._trainer.train()
        return watch.taken()

    def run_epoch(self, examples: Sequence[Example], watch: Stopwatch) -> Piece:
        """Train on every example once."""
        self._trainer.train_dataset = list(examples)
        return self.run(watch, warmup=0, steps=-(-len(examples) // self.batch))


class _StepClock(TrainerCallback):
    """Start the stopwatch before the first timed step and stop it after the last."""

    def prepare(self, watch: Stopwatch, first: int, last: int) -> None:
        self.watch, self.first, self.last = watch, first, last

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.global_step == self.first:
            self.watch.start()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.global_step == self.last:
            self.watch.stop()
