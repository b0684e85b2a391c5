"""The server of the how-to page, in an environment with neither greffe nor torch."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.builders import toy_run

import greffe
from greffe.data.tokenizer import Tokenizer
from greffe.run import RunDirectory

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "serve"
PAGE = ROOT / "docs" / "how-to" / "serve.md"
SHORT = ["Ce roman est beau.", "", "Un <mask> ennuyeux 👍", "  deux  espaces\n"]
LONG = "Ce livre est vraiment magnifique, et je le relirai. " * 8
START_SECONDS = 60
ANSWER_SECONDS = 20

Post = Callable[[bytes | dict[str, Any]], tuple[int, Any]]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: Tokenizer) -> RunDirectory:
    """A run that labels texts, with fresh weights."""
    folder = tmp_path_factory.mktemp("served")
    return toy_run(folder / "classifier", tiny_tokenizer, ["négatif", "positif", "neutre"])


@pytest.fixture(scope="module")
def deployed(classifier: RunDirectory) -> Path:
    """A folder with the example and the exported model, as the page says."""
    folder = classifier.path.parent / "deployed"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    greffe.export(classifier, folder / "model")
    return folder


@pytest.fixture(scope="module")
def python(deployed: Path) -> Path:
    """Python of an environment with the packages in requirements.txt only."""
    python = deployed / ".venv" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    _run(sys.executable, "-m", "venv", "--without-pip", ".venv", cwd=deployed)
    _run(
        *(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"),
        *("install", "--quiet", "--no-compile", "-r", "requirements.txt", "-c", constraints),
        cwd=deployed,
    )
    return python


@pytest.fixture(scope="module")
def post(deployed: Path, python: Path) -> Iterator[Post]:
    """Sends a body to the server that runs meanwhile; returns the status and the answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [python, "-m", "uvicorn", "serve:app", "--host", "127.0.0.1", "--port", port]
    with (deployed / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=deployed, env=_environment(), stdout=log, stderr=log)

    def send(body: bytes | dict[str, Any]) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/predict",
            body if isinstance(body, bytes) else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    try:
        _wait_for(server, int(port), deployed / "server.log")
        yield send
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when the server accepts connections."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(log.read_text("utf-8"))


def _environment() -> dict[str, str]:
    """Return the environment without what makes greffe importable."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "ORT_"))  # greffe sets one for onnxruntime
    }
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def _run(*command: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=cwd, env={**_environment(), **more}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.alone
@pytest.mark.slow
def test_the_environment_has_neither_torch_nor_greffe(python: Path, deployed: Path) -> None:
    code = (
        "from importlib.util import find_spec\n"
        "print([name for name in ('torch', 'greffe', 'onnxruntime') if find_spec(name)])"
    )
    assert _run(python, "-c", code, cwd=deployed).stdout.strip() == "['onnxruntime']"


@pytest.mark.alone
@pytest.mark.slow
def test_probabilities_are_those_of_greffe(post: Post, classifier: RunDirectory) -> None:
    run = greffe.load(classifier.path, precision="fp32")
    expected = [*run.predict(SHORT), *run.predict([LONG], long="cut")]
    assert expected[-1].cut > 0
    status, answers = post({"texts": [*SHORT, LONG]})
    assert status == 200
    assert [answer["label"] for answer in answers] == [each.label for each in expected]
    for answer, each in zip(answers, expected, strict=True):
        assert list(answer["probabilities"]) == run.labels
        assert answer["score"] == answer["probabilities"][answer["label"]]
        found, exact = (list(row.values()) for row in (answer["probabilities"], each.probabilities))
        assert np.abs(np.subtract(found, exact)).max() < 1e-4


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"texts": []}, "at least 1 item"),
        ({"texts": ["a"] * 65}, "at most 64 items"),
        ({"texts": ["a", 3]}, "valid string"),
        ({"texts": [None]}, "valid string"),
        ({"texts": "a"}, "valid list"),
        ({"texts": ["a" * 20_001]}, "at most 20000 characters"),
        ({"text": ["a"]}, "Field required"),
        (b'{"texts": ["\\ud800"]}', "unicode"),
        (b'{"texts": [NaN]}', "valid string"),
        (b"{", "JSON"),
    ],
)
def test_bad_input_is_refused(post: Post, body: bytes | dict[str, Any], problem: str) -> None:
    status, answer = post(body)
    assert status == 422
    assert problem in answer["detail"][0]["msg"]


@pytest.mark.alone
@pytest.mark.slow
def test_onnxruntime_reports_nothing_to_its_makers(
    python: Path, deployed: Path, tmp_path: Path
) -> None:
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(tmp_path))
    _run(python, "-c", "import serve", cwd=deployed, **places)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.alone
@pytest.mark.slow
def test_a_folder_of_another_kind_is_refused(
    python: Path, deployed: Path, tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    folder = greffe.export(toy_run(tmp_path / "base", tiny_tokenizer), tmp_path / "features")
    code = (
        "from pydantic import ValidationError\n"
        "try: import serve\n"
        "except ValidationError as error: print(error)"
    )
    found = _run(python, "-c", code, cwd=deployed, MODEL=str(folder)).stdout
    assert "Input should be 'classification'" in found


def test_the_page_shows_the_files() -> None:
    page = PAGE.read_text("utf-8")
    for name in ("serve.py", "requirements.txt"):
        (block,) = re.findall(rf'^```\w+ title="{re.escape(name)}"\n(.*?)^```$', page, re.M | re.S)
        assert block == (EXAMPLE / name).read_text("utf-8")
