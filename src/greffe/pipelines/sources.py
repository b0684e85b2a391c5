"""Sources of a base: a run, a shipped base, or a base from elsewhere, imported on the way.

What a command imports for itself is a run in the cache, made once for the same files.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from greffe.interop.huggingface.config import CONFIG_FILE
from greffe.interop.huggingface.files import has_weights
from greffe.interop.huggingface.hub import is_hub_name
from greffe.pipelines.import_base import (
    CHECKPOINT_SUFFIXES,
    Located,
    check_weights,
    locate,
    read_base,
    write_imported,
)
from greffe.progress import notice
from greffe.run import RUN_FILE, RunDirectory, imports_folder, open_run, run_path
from greffe.storage import check_writable, disk_error, file_hash, remove_leftovers, temporary_path

READ_SUFFIXES = (".json", ".safetensors", ".bin", *CHECKPOINT_SUFFIXES)
FORMAT = 1
"""Raised when a base is imported in another way than before: what is in the cache is not used."""


def open_base(source: str | Path | RunDirectory) -> RunDirectory:
    """Open a run, a shipped base or a base from elsewhere; raise an error if it has no base."""
    opened = open_source(source)
    opened.require_base()
    return opened


def open_source(source: str | Path | RunDirectory) -> RunDirectory:
    """Open a run by path or name; a source from elsewhere is imported into the cache first."""
    if isinstance(source, RunDirectory) or not is_foreign(source):
        return open_run(source)
    return _imported(locate(source))


def is_foreign(source: str | Path) -> bool:
    """Return whether a source is a base in another format: on the hub, a folder or a checkpoint."""
    if is_hub_name(str(source)):
        return True
    path = run_path(source)
    if path.is_file():
        return path.suffix in CHECKPOINT_SUFFIXES
    if (path / RUN_FILE).exists() or not path.is_dir():
        return False
    return (path / CONFIG_FILE).is_file() or has_weights(path)


def _imported(located: Located) -> RunDirectory:
    """Return the run in the cache of this source; one that is not there yet is written."""
    cache = imports_folder()
    final = cache / _key(located)
    if (final / RUN_FILE).exists():
        return RunDirectory.open(final)
    check_writable(cache)
    base = read_base(located)
    initial_base = check_weights(base)
    temporary = temporary_path(final)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        remove_leftovers(cache)
        temporary.mkdir()
        write_imported(RunDirectory(temporary), base, located, initial_base)
        if not (final / RUN_FILE).exists():  # another process may have been faster
            temporary.replace(final)
    except OSError as error:
        if not (final / RUN_FILE).exists():
            raise disk_error(error, final) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    notice(f"{located.source} is kept as a run in {final}")
    return RunDirectory.open(final)


def _key(located: Located) -> str:
    """Return a name that follows from the source and the content of its files."""
    digest = hashlib.sha256(f"{FORMAT}:{located.source}".encode("utf-8", "surrogateescape"))
    path = located.path
    for file in [path] if path.is_file() else sorted(path.iterdir()):
        if file.suffix in READ_SUFFIXES and file.is_file():
            digest.update(f"{file.name}:{file_hash(file)};".encode())
    return digest.hexdigest()[:32]
