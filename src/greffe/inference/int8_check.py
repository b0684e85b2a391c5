"""What int8 changes: its labels of some texts, compared with those of fp32."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.config.options import LongTexts
from greffe.data.tokenizer import Tokenizer
from greffe.inference.predict import predict
from greffe.model.model import Model
from greffe.progress import notice

TEXTS = 100
FEW_TEXTS = 20
SHARE = 0.2
"""Of the first texts without labels, so that the check costs less than int8 saves."""
MOST_CHANGED = 0.01
"""Of the labels; accuracy changes by less, because some of the changes are corrections."""
LABELLED_TEXTS = 2000
MOST_CHANGED_ACCURACY = 0.003


def check_labels(
    exact: Model,
    quantized: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    texts: Sequence[str],
    *,
    causal: bool,
    long: LongTexts,
) -> None:
    """Say how many labels of the first texts int8 changes; advise against it if they are many."""
    some = texts[: min(TEXTS, max(FEW_TEXTS, int(SHARE * len(texts))))]
    before, after = (
        [found.label for found in predict(model, tokenizer, labels, some, causal=causal, long=long)]
        for model in (exact, quantized)
    )
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    # One label may change anywhere: that of a text for which two classes are equally likely.
    if changed > max(1, MOST_CHANGED * len(some)):
        notice(
            f"int8 changes {changed} of the first {len(some)} labels compared with fp32; use "
            "--precision bf16 or fp32, or measure the accuracy of both with greffe evaluate"
        )
    elif len(some) >= FEW_TEXTS:
        equal = len(some) - changed
        notice(f"int8 on the CPU: {equal} of the first {len(some)} labels are those of fp32")


def report_accuracy(int8: float, fp32: float, texts: int) -> None:
    """Say what int8 does to the accuracy; advise against it if it is more than 0.3 points."""
    if abs(int8 - fp32) > MOST_CHANGED_ACCURACY:
        notice(
            f"int8 changes the accuracy on the first {texts:,} texts from {fp32:.2%} (fp32) to "
            f"{int8:.2%}: use --precision bf16 or fp32"
        )
    else:
        notice(f"accuracy on the first {texts:,} texts: {int8:.2%} in int8, {fp32:.2%} in fp32")
