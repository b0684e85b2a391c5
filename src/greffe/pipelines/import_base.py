"""greffe import: a base from elsewhere → a finished run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from greffe.config.components import ObjectiveSpec
from greffe.config.options import Output, TokenizerOptions
from greffe.errors import InputError
from greffe.interop.foreign_base import ForeignBase
from greffe.interop.huggingface.folder import read_folder
from greffe.interop.huggingface.hub import commit_of, download, is_hub_name
from greffe.interop.lab_checkpoint import read_lab_checkpoint
from greffe.model.formulas import count_parameters
from greffe.model.model import empty_model
from greffe.model.tensor_writer import ITEM_BYTES, write_tensors
from greffe.model.weights import BASE, check_finite, stream_hash
from greffe.output_folder import OutputFolder
from greffe.pipelines.imported_recipe import describe_defaults, imported_recipe
from greffe.pipelines.imported_tokenizer import tokenizer_reader
from greffe.pipelines.model_card import write_model_card
from greffe.progress import Progress, notice
from greffe.run import Imported, Manifest, RunDirectory, new_lineage
from greffe.storage import check_space, file_hash
from greffe.training.compute import set_up_compute

CHECKPOINT_SUFFIXES: tuple[str, ...] = (".pt", ".pth")
SOURCES = "a folder in Hugging Face format, hf:owner/name, or the lab's checkpoint (.pt)"


@dataclass(frozen=True)
class Located:
    """A source whose files are on this machine."""

    source: str
    """As it was given."""
    path: Path
    """A folder in Hugging Face format, or a checkpoint of the lab."""
    revision: str | None = None

    @property
    def name(self) -> str:
        """A short name, for the recipe."""
        text = self.source.partition("@")[0] if is_hub_name(self.source) else str(self.path)
        return Path(text).resolve().name.removesuffix(self.path.suffix * self.path.is_file())


def locate(source: str | Path) -> Located:
    """Return where the files of a source are, downloaded if it is on the hub."""
    text = str(source)
    if is_hub_name(text):
        folder = download(text)
        return Located(text, folder, commit_of(folder))
    path = Path(source)
    if not path.exists():
        raise InputError(
            f"There is nothing at {text}.",
            expected=SOURCES,
            found="no such file or folder",
        )
    return Located(text, path)


def import_base(
    source: str | Path,
    output: Output,
    *,
    tokenizer_options: TokenizerOptions = TokenizerOptions(),
) -> RunDirectory:
    """Write a base from elsewhere as a run, with its tokenizer and its language-model heads."""
    sources = [] if is_hub_name(str(source)) else [source]
    with OutputFolder(
        output.out, overwrite=output.overwrite, resumes="never", sources=sources
    ) as folder:
        located = locate(source)
        base = read_base(located, tokenizer_options)
        if not folder.is_ours:
            check_space(folder.path, ITEM_BYTES * _weights(base))
        initial_base = check_weights(base)
        folder.begin()
        run = write_imported(RunDirectory(folder.path), base, located, initial_base)
    notice(f"run written to {run.path}")
    return run


def read_base(located: Located, options: TokenizerOptions = TokenizerOptions()) -> ForeignBase:
    """Return a base whose names, shapes and vocabulary are checked; no tensor is read."""
    path = located.path
    if path.is_dir():
        return read_folder(path, tokenizer_reader(path, options))
    if path.suffix in CHECKPOINT_SUFFIXES:
        return read_lab_checkpoint(path, tokenizer_reader(path, options))
    raise InputError(
        f"{located.source} cannot be imported.",
        expected=SOURCES,
        found="another file",
        hint="for a file of weights, give the folder with its config.json and tokenizer.json",
    )


def check_weights(base: ForeignBase) -> str:
    """Read all tensors once; return the hash of the base. Weights must be finite."""
    total = _weights(base)

    def finite() -> Iterator[tuple[str, Tensor]]:
        with Progress("check", total, "weights") as progress:
            for name, tensor in base.tensors():
                check_finite({name: tensor}, base.files[0], hint="download or copy it again")
                progress.advance(tensor.numel())
                if name.startswith(BASE):
                    yield name, tensor

    return stream_hash(finite())


def write_imported(
    run: RunDirectory, base: ForeignBase, located: Located, initial_base: str
) -> RunDirectory:
    """Write the files of a run into a folder; the manifest comes last."""
    weights = _weights(base)
    recipe = imported_recipe(base, located.name, weights)
    model = empty_model(base.model, base.vocab, base.heads)
    shapes = {name: tuple(each.shape) for name, each in sorted(model.state_dict().items())}

    def copied() -> Iterator[tuple[str, Tensor]]:
        with Progress("import", weights, "weights") as progress:
            for name, tensor in base.tensors():
                yield name, tensor
                progress.advance(tensor.numel())

    digest = write_tensors(run.weights_path, shapes, copied())
    run.write_recipe(recipe)
    base.tokenizer.save(run.tokenizer_path)
    run.write_manifest(
        Manifest(
            kind="language-model",
            status="finished",
            vocab=base.vocab,
            heads=base.heads,
            directions=list(ObjectiveSpec.of_kind(base.objective).directions),
            lineage=new_lineage(
                threads=set_up_compute(),
                parent=located.source,
                parent_weights=_files_hash(base.files),
                initial_base=initial_base,
                tokenizer=base.tokenizer.fingerprint,
                data={},
            ),
            weights=digest,
            imported=Imported(
                source=located.source,
                revision=located.revision,
                parameters=base.parameters,
                folded=dict(base.folded),
            ),
        )
    )
    write_model_card(run)
    heads = ", ".join(base.heads) or "none"
    notice(f"import: {base.model.family}, {weights:,} weights, heads: {heads}")
    notice(describe_defaults(recipe, weights))
    return run


def _weights(base: ForeignBase) -> int:
    return count_parameters(base.model, base.vocab, base.heads.values())


def _files_hash(files: Sequence[Path]) -> str:
    """Return the SHA-256 of the weights' file; of several, that of their hashes in order."""
    hashes = [file_hash(file) for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
