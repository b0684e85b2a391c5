"""An exported folder → a repository of the hub.

The library huggingface_hub finds the user's login by itself; greffe never sees it.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from greffe.errors import InputError, MissingExtraError, first_line

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
LOG_IN = "log in with a token that may write: hf auth login"


def check_upload(name: str) -> None:
    """Raise an error unless this can be the name of a repository, and the library is there."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not the name of a repository.",
            expected="owner/name, with letters, digits, - _ and .",
            found=repr(name),
        )
    if find_spec("huggingface_hub") is None:
        raise MissingExtraError("huggingface_hub", "hub", f"Uploading to {name}")


def push_to_hub(folder: Path, name: str, *, private: bool = False) -> str:
    """Upload the files of a folder to owner/name, which is made if it is not there.

    Returns the address of the model. An existing repository keeps its other files, and stays as
    private or public as it is.
    """
    check_upload(name)
    import huggingface_hub
    from huggingface_hub import errors

    api = huggingface_hub.HfApi()
    try:
        made = api.create_repo(name, private=private, exist_ok=True, repo_type="model")
        api.upload_folder(
            repo_id=name,
            folder_path=folder,
            repo_type="model",
            commit_message="Export from greffe",
            ignore_patterns=[".*"],
        )
    except errors.LocalTokenNotFoundError:
        raise InputError(f"Uploading to {name} requires a login of the hub.", hint=LOG_IN) from None
    except errors.HFValidationError as error:
        raise InputError(
            f"{name!r} is not the name of a repository.",
            expected="owner/name",
            found=first_line(error),
        ) from None
    except errors.HfHubHTTPError as error:
        raise _refused(name, error) from None
    except Exception as error:  # of the network, of files: there is no common class
        raise InputError(
            f"The hub cannot be reached: nothing was uploaded to {name}.",
            expected="a network connection, without HF_HUB_OFFLINE",
            found=first_line(error),
            hint="the files are still in the folder: try again later",
        ) from None
    return str(made)


def _refused(name: str, error: Exception) -> InputError:
    """Return the error for an answer of the hub; most often the login is missing or too weak."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403, 404):
        return InputError(
            f"The hub does not allow you to write to {name}.",
            expected="a login with write access to this owner",
            found=first_line(error),
            hint=f"check the owner's name, and {LOG_IN}",
        )
    return InputError(
        f"The hub refused the upload to {name}.",
        expected="a repository that may be written to",
        found=first_line(error),
        hint="the files are still in the folder: try again later",
    )
