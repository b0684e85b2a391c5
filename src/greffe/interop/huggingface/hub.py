"""Models of the Hugging Face hub: `hf:owner/name` or `hf:owner/name@revision` → a local folder.

The library huggingface_hub downloads what is needed and keeps it in its own cache.
"""

from __future__ import annotations

import re
from pathlib import Path

from greffe.errors import InputError, MissingExtraError, first_line
from greffe.interop.huggingface.config import CONFIG_FILE
from greffe.interop.huggingface.files import INDEX, PICKLED, SAFETENSORS, has_weights

HUB_PREFIX = "hf:"
_NAME = re.compile(r"(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[^\s@]+))?")
_COMMIT = re.compile("[0-9a-f]{40}")
SMALL_FILES = (
    *(CONFIG_FILE, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    "added_tokens.json",
)
PLAIN_WEIGHTS = (SAFETENSORS, f"{SAFETENSORS}{INDEX}", "model-*.safetensors")
PICKLED_WEIGHTS = (PICKLED, f"{PICKLED}{INDEX}", "pytorch_model-*.bin")


def is_hub_name(source: str) -> bool:
    """Return whether a source is on the hub."""
    return source.startswith(HUB_PREFIX)


def download(source: str) -> Path:
    """Return the folder of a model of the hub, downloaded unless it is in the library's cache.

    Torch files are only downloaded if there are no safetensors.
    """
    match = _NAME.fullmatch(source.removeprefix(HUB_PREFIX))
    if match is None:
        raise InputError(
            f"{source} is not the name of a model.",
            expected="hf:owner/name or hf:owner/name@revision",
            found=repr(source),
        )
    name, revision = match["name"], match["revision"]
    folder = _snapshot(source, name, revision, [*SMALL_FILES, *PLAIN_WEIGHTS])
    if not has_weights(folder):
        folder = _snapshot(source, name, revision, [*SMALL_FILES, *PICKLED_WEIGHTS])
    return folder


def commit_of(folder: Path) -> str | None:
    """Return the commit that a folder of the library's cache holds, by its name."""
    return folder.name if _COMMIT.fullmatch(folder.name) else None


def _snapshot(source: str, name: str, revision: str | None, patterns: list[str]) -> Path:
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hub", f"Importing {source}") from None
    try:
        return Path(
            huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=patterns)
        )
    except errors.GatedRepoError:
        raise InputError(
            f"{source} may only be downloaded by those who have been granted access.",
            hint=f"ask for it at https://huggingface.co/{name}, then log in: hf auth login",
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(
            f"{name} has no revision {revision!r}.",
            expected="a branch, a tag or a commit of the repository",
            hint=f"https://huggingface.co/{name}/commits/main lists them",
        ) from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"There is no model {name} on the hub, or it is private.",
            expected="hf:owner/name, as in https://huggingface.co/owner/name",
            hint="check the spelling; for a private model, log in: hf auth login",
        ) from None
    except errors.LocalEntryNotFoundError as error:
        raise InputError(
            f"{source} is not in the cache, and the hub cannot be reached.",
            expected="a network connection without HF_HUB_OFFLINE, or a model downloaded before",
            found=first_line(error),
            hint="download the files elsewhere and pass their folder",
        ) from None
    except Exception as error:  # of the network, of files: there is no common class
        raise InputError(
            f"{source} cannot be downloaded.",
            expected="hf:owner/name or hf:owner/name@revision, and a network connection",
            found=first_line(error),
            hint="download the files elsewhere and pass their folder",
        ) from None
