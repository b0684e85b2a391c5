"""What every registered check declares."""

from __future__ import annotations

from greffe.doctor.checks import CHECKS
from greffe.doctor.descriptions import load_sentences


def test_every_kind_belongs_to_one_check_and_has_its_texts() -> None:
    kinds = [kind for check in CHECKS.values() for kind in check.kinds]
    assert len(set(kinds)) == len(kinds)
    for language in ("en", "fr"):
        assert load_sentences(language)["finding"].keys() == set(kinds)  # type: ignore[arg-type]


def test_checks_come_in_their_order_under_titles_of_their_own() -> None:
    orders = [check.order for check in CHECKS.values()]
    assert orders == sorted(set(orders))
    assert len({check.title for check in CHECKS.values()}) == len(CHECKS)
