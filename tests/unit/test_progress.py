"""Progress: lines in a pipe, a bar in a terminal, nothing when quiet, nothing on stdout."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from greffe import progress
from greffe.progress import Progress, format_count, format_seconds, notice, quiet

Clock = Callable[[float], None]


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """pass_time(5): advance the clock of this test by five seconds."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def pass_seconds(seconds: float) -> None:
        now[0] += seconds

    return pass_seconds


def test_piped_progress_is_a_line_every_few_seconds(
    pass_time: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("encode", 1000, "bytes") as shown:
        for _ in range(30):
            pass_time(1.0)
            shown.advance(20, detail="shard 3")
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == "encode:  20% · 200 bytes, 20/s · 0:40 left · shard 3"
    assert lines[1] == "encode:  40% · 400 bytes, 20/s · 0:30 left · shard 3"
    # The end repeats no line.
    assert lines[2:] == ["encode:  60% · 600 bytes, 20/s · 0:20 left · shard 3"]
    assert "\r" not in captured.err and "\x1b" not in captured.err


def test_the_last_line_has_the_duration(
    pass_time: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("pretrain", 10, "steps") as shown:
        pass_time(72.0)
        shown.set(9, "loss 1.5")
        pass_time(3.0)
        shown.set(10, "loss 1.234")
    assert capsys.readouterr().err == (
        "pretrain:  90% · 9 steps, 0.125/s · 0:08 left · loss 1.5\n"
        "pretrain: 100% · 10 steps, 0.1333/s · 1:15 taken · loss 1.234\n"
    )


def test_the_speed_of_a_resumed_job_ignores_earlier_work(pass_time: Clock) -> None:
    with quiet(), Progress("pretrain", 100, "steps", start=50) as shown:
        pass_time(10.0)
        shown.set(60)
        assert shown.status() == " 60% · 60 steps, 1/s · 0:40 left"


def test_an_unknown_total_shows_no_fraction(pass_time: Clock) -> None:
    with quiet(), Progress("read", None, "texts") as shown:
        pass_time(2.0)
        shown.advance(10)
        assert shown.status() == "10 texts, 5/s · 0:02 taken"


def test_more_than_the_total_is_shown_as_100_percent(pass_time: Clock) -> None:
    with quiet(), Progress("time", 60, "s") as shown:
        pass_time(61.0)
        shown.set(61)
        assert shown.status().startswith("100%")


def test_a_failed_job_prints_no_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), Progress("encode", 10):
        raise ZeroDivisionError
    assert capsys.readouterr().err == ""
    assert Progress.active is None


def test_quiet_silences_progress_and_notices(
    pass_time: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with quiet(), Progress("encode", 10) as shown:
        notice("not heard")
        pass_time(60.0)
        shown.advance(1)
    notice("heard")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "heard\n")


def test_quiet_ends_with_its_block_even_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), quiet():
        with quiet():
            pass
        notice("still not heard")
        raise ZeroDivisionError
    notice("heard")
    assert capsys.readouterr().err == "heard\n"


def test_silence_has_no_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_quiet", False)
    progress.silence()
    with quiet():
        pass
    notice("not heard")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar_with_notices_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("encode", 10, "bytes") as shown:
        notice("[not] markup")
        with Progress("inner", 5) as inner:
            assert inner.bar is None
        shown.advance(10)
    text = terminal.getvalue()
    assert "[not] markup" in text
    assert "100%" in text and "10 bytes" in text
    assert "\x1b[" in text
    assert Progress.active is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (750, "12:30"), (3723, "1:02:03"), (-3, "0:00")],
)
def test_format_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (950, "950"),
        (0.25, "0.25"),
        (9999, "9999"),
        (9999.9, "10k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_600, "1M"),
        (4_560_000, "4.56M"),
        (999_700_000, "1G"),
        (7.25e9, "7.25G"),
    ],
)
def test_format_count(amount: float, text: str) -> None:
    assert format_count(amount) == text


def test_nested_progress_advances_the_outer_bar_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with Progress("study", 10) as whole:
        with whole.part(4, "first"):
            with Progress("training", 2) as inner:
                notice("not for the user of a study")
                inner.advance(1, "step 1")
                assert whole.done == 2
            assert whole.done == 2
        assert whole.done == 4
        notice("heard again")
    written = capsys.readouterr().err
    assert "first" in written
    assert "heard again" in written
    assert "training" not in written
    assert "not for the user" not in written


def test_notices_are_printed_again_after_a_part_failed(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("study", 10) as whole:
        with pytest.raises(ValueError, match="broken"), whole.part(4, "first"):
            raise ValueError("broken")
        assert whole.done == 0
        notice("heard")
    assert "heard" in capsys.readouterr().err
