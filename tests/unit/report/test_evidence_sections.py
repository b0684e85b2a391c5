"""Sections on evidence: disagreements, the proof of the transfer, findings, the command."""

from __future__ import annotations

import shlex

from greffe.report.blocks import Code, Figure, Partial
from greffe.report.catalog import load_catalog
from greffe.report.evidence_sections import (
    disagreements_section,
    findings_section,
    proof_section,
    repeat_section,
)
from greffe.study.document import StudyDocument

ENGLISH = load_catalog("en")


def test_a_disagreement_says_which_arm_is_right(study: StudyDocument) -> None:
    section = disagreements_section(study, ENGLISH)
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, Partial)
    predictions = block.values["texts"][0]["predictions"]
    assert [one["arm"] for one in predictions] == [
        ENGLISH(f"arms.{arm}") for arm in ("pretrained", "scratch", "tfidf")
    ]
    assert [one["is_right"] for one in predictions] == [False, True, True]
    assert [one["probability"] for one in predictions] == ["83.0%", "61.0%", "58.0%"]
    assert [bool(one["marked"]) for one in predictions] == [True, True, False]


def test_the_proof_counts_tensors_and_draws_what_was_measured(
    study: StudyDocument, bare_study: StudyDocument
) -> None:
    blocks = proof_section(study, ENGLISH).blocks
    assert [block.ident for block in blocks if isinstance(block, Figure)] == [
        *("moves-chart", "probes-chart")
    ]
    counts = {
        name: ENGLISH.counted(count, "tensor")
        for name, count in (("taken", 4), ("new", 2), ("left", 1))
    }
    texts = [getattr(block, "text", "") for block in blocks]
    assert texts[:2] == [
        ENGLISH("proof.intro", **counts),
        ENGLISH("proof.base", hash=study.proof.base_hash),
    ]
    bare = proof_section(bare_study, ENGLISH).blocks
    assert not [block for block in bare if isinstance(block, Figure)]


def test_nothing_found_is_no_section(study: StudyDocument, bare_study: StudyDocument) -> None:
    section = findings_section(study, ENGLISH)
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, Partial)
    assert [one.finding.kind for one in block.values["findings"]] == ["leak", "imbalance"]
    assert findings_section(bare_study, ENGLISH) is None
    assert disagreements_section(bare_study, ENGLISH) is None


def test_the_command_can_be_copied_and_the_recipe_is_optional(study: StudyDocument) -> None:
    codes = [one for one in repeat_section(study, ENGLISH).blocks if isinstance(one, Code)]
    assert [shlex.split(codes[0].text), codes[1].text] == [
        study.repeat.command,
        study.repeat.recipe,
    ]
    repeat = study.repeat.model_copy(update={"recipe": ""})
    blocks = repeat_section(study.model_copy(update={"repeat": repeat}), ENGLISH).blocks
    assert len([one for one in blocks if isinstance(one, Code)]) == 1
