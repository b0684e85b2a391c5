"""The demo on a part of its data, with few seeds; and once more, reusing the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from greffe import demo as demo_module
from greffe.demo import demo
from greffe.errors import DiskFullError, GreffeError, InterruptedRunError
from greffe.samples.reviews import reviews_folder


def part_of_the_reviews(folder: Path) -> Path:
    """Write the first lines of each file, with the header of the tables."""
    for name in ("unlabelled.txt", "train.tsv", "valid.tsv", "test.tsv", "auxiliary.tsv"):
        lines = (reviews_folder() / name).read_text("utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:61]), "utf-8")
    return folder


def times(folder: Path) -> dict[Path, int]:
    """Return when each result was written."""
    written = [*folder.glob("*/cells/**/*"), *folder.glob("*/weights.safetensors")]
    return {path: path.stat().st_mtime_ns for path in written}


@pytest.mark.parametrize("kind", [DiskFullError, InterruptedRunError])
@pytest.mark.parametrize(("overwrite", "flags"), [(False, ""), (True, " without --overwrite")])
def test_the_demo_says_how_it_continues(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[GreffeError],
    overwrite: bool,
    flags: str,
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise kind("stopped", hint="repeat the command with --resume")

    monkeypatch.setattr(demo_module, "_introduce", stop)
    with pytest.raises(kind) as caught:
        demo(tmp_path / "demo", overwrite=overwrite)
    assert str(caught.value.hint).endswith(f"repeat the command{flags}")


@pytest.mark.slow
def test_the_demo_ends_with_a_verdict_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_module, "SEEDS", 2)
    monkeypatch.setattr(demo_module, "STEPS", 2)
    monkeypatch.setattr(demo_module, "AUXILIARY_EPOCHS", 1)
    monkeypatch.setattr(demo_module, "REGISTER_STEPS", 2)
    monkeypatch.setattr(demo_module, "reviews_folder", lambda: part_of_the_reviews(tmp_path))
    verdict = demo(tmp_path / "demo")
    shown = capsys.readouterr().err
    assert "8,062,208 parameters" in shown
    assert "it continues: Bonjour les" in shown
    for text in (*demo_module.SENTENCES, *demo_module.REGISTERS):
        assert text in shown
    for command in ("greffe fit", "greffe pretrain", "greffe compare"):
        assert command in verdict
    for words in ("Book reviews: ", "Short sentences: ", " from scratch: ", "Recommended: "):
        assert words in verdict
    for study in ("study", "registers"):
        assert (tmp_path / f"demo/{study}/report.html").stat().st_size > 100_000

    before = times(tmp_path / "demo")
    assert len(before) > 4
    assert demo(tmp_path / "demo") == verdict
    assert times(tmp_path / "demo") == before
