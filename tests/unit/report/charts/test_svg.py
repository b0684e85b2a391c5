"""Text that fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greffe.report.charts.svg import fitted, text_width


@given(st.text(max_size=60), st.floats(20, 200))
def test_fitted_text_fits(content: str, width: float) -> None:
    shown = fitted(content, width)
    assert text_width(shown) <= max(width, text_width("…"))
    assert shown == content or shown.endswith("…")
