"""Command lines: every verb with every flag, in combinations that nobody would type."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from tools.fuzz.corpus_targets import PRETRAIN
from tools.fuzz.recipe_targets import CHANGES, SPANS
from tools.fuzz.run_targets import FINETUNE
from tools.fuzz.targets import Action, Target, built_command, nothing, run_command
from tools.fuzz.world import SMALL

LINES = (
    *("show tiny --json", "show mask base --size 5", "show positions base", "show classifier"),
    *("generate base Ce --tokens 3 --top-k 5", "fill base 'Ce <mask>.' --top 2 --json"),
    *("predict classifier texte --format csv", "predict linear --input text.txt --format jsonl"),
    *("evaluate linear --data valid.tsv --json", "doctor --data train.tsv --test test.tsv --json"),
    *("calibrate classifier --data valid.tsv", "predict linear --input train.tsv --out out.csv"),
    *("prepare text.txt --out out --vocab 300 --workers 1", f"{PRETRAIN} masked", FINETUNE),
    *("linear --data train.tsv --out out --from base", "ensemble classifier linear --out out"),
    *("report base --out out", "report base classifier --out out --language fr"),
    *("demo --out text.txt", "lab --out text.txt --budget 1steps", "--version", "--help"),
)
COMPARE = ("compare base --data train.tsv --valid valid.tsv --test test.tsv --out out --seeds 1",)
PATHS = (
    *("base", "classifier", "linear", "corpus", "unfinished", "text.txt", "train.tsv", "test.tsv"),
    *("base/run.json", "base/weights.safetensors", "corpus/*.tokens", "text.txt/inside", "tiny"),
    *(
        "missing",
        "missing/too",
        "",
        " ",
        ".",
        "*",
        "[",
        "-",
        "/dev/null",
        "a\nb",
        "é\udcff",
        "x" * 300,
    ),
)
OUTS = ("out", "out/deep/er", "out.png", "text.txt", "unfinished", "", ".", "x" * 300, "corpus")
NUMBERS = (
    *("0", "1", "2", "3", "-1", "0.5", "1.0", "1e-9", "nan", "inf", "-inf", "1e999", "1_0", "٣"),
    *("9" * 30, "-" + "9" * 30, "9223372036854775808", "", "x", "0x10", "9" * 5000),
)
TEXTS = (
    *("", " ", "text", "label", "utf-8", "latin-1", "utf-16", "idna", "rot13", "zlib", "masked"),
    *("causal", "hybrid", "next_sentence", "line", "file", "fr", "csv", "cut", "unigram"),
    *("1,2,all", ",", "a=base", "a=base,b", "=", "\udcff", "%s"),
    *CHANGES,
    *SPANS,
)
TRAINING = ("pretrain", "finetune", "compare")
LONG = ("demo", "lab")


def _examples(lines: Sequence[str], world: Path) -> Sequence[bytes]:
    return [json.dumps(shlex.split(line)).encode() for line in lines]


def _change_words(random: Random, data: bytes) -> bytes:
    words: list[str] = json.loads(data)
    for _ in range(random.choice((1, 1, 2, 2, 3, 5))):
        words = _change_word(random, words)
    return json.dumps(words).encode()


def _change_word(random: Random, words: list[str]) -> list[str]:
    place = random.randrange(len(words)) if words else 0
    match random.randrange(8):
        case 0:
            return words[:place] + words[place + 1 :]
        case 1:
            return words[:place] + words[place : place + 1] + words[place:]
        case 2:
            return [*words[:place], random.choice((*PATHS, *TEXTS)), *words[place + 1 :]]
        case 3 if words and place and not words[place].startswith("/"):
            letters = words[place]
            cut = random.randrange(len(letters) + 1)
            return [*words[:place], letters[:cut] + random.choice("-= é0x"), *words[place + 1 :]]
        case 4:
            return [random.choice(sorted(built_command().commands)), *words[1:]]
        case _:
            return [*words, *_random_flag(random, words)]


def _random_flag(random: Random, words: list[str]) -> list[str]:
    """Return a flag of the verb with some value."""
    verbs = built_command().commands
    verb = words[0] if words and words[0] in verbs else random.choice(sorted(verbs))
    flags = [param for param in verbs[verb].params if param.opts[0].startswith("-")]
    flag = random.choice(flags)
    name = random.choice((*flag.opts, *flag.secondary_opts))
    if getattr(flag, "is_flag", False):
        return [name]
    # A value of the wrong kind is refused at once, so it costs little to try all kinds.
    kinds = (OUTS,) if name == "--out" else (PATHS, NUMBERS, TEXTS)
    return [name, random.choice(random.choice(kinds))]


def _run(data: bytes) -> Sequence[Action]:
    words: list[str] = json.loads(data)
    verb = next((word for word in words if not word.startswith("-")), "")
    # The last value of a flag counts: trainings are short, and demo and lab never begin.
    if verb in TRAINING:
        words += ["--budget", "1steps", *(word for change in SMALL for word in ("--set", change))]
    if verb in LONG:
        words += ["--out", "text.txt"]
    if verb == "predict" and "--overwrite" in words:  # any file may be replaced then
        words += ["--out", "out.csv"]
    return [partial(run_command, *words)]


PARTS = (
    *("text.txt", "train.tsv", "valid.tsv", "test.tsv"),
    *("corpus", "base", "classifier", "linear", "unfinished"),
)
TARGETS = tuple(
    Target(
        name=name,
        examples=partial(_examples, lines),
        change=_change_words,
        place=nothing,
        actions=_run,
        parts=PARTS,
        written=("out", "unfinished", "classifier/run.json", "linear/run.json"),  # calibrate
        weight=weight,
    )
    # A study takes a hundred times as long as most other commands.
    for name, lines, weight in (("command", LINES, 8.0), ("command-compare", COMPARE, 0.02))
)
