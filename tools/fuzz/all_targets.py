"""Every target by its name."""

from __future__ import annotations

from tools.fuzz import (
    command_targets,
    corpus_targets,
    export_targets,
    foreign_targets,
    odd_file_targets,
    recipe_targets,
    run_targets,
    study_targets,
    table_targets,
    tensor_targets,
    text_targets,
    tokenizer_targets,
)
from tools.fuzz.targets import Target

FAMILIES = (
    *(recipe_targets, run_targets, tensor_targets, tokenizer_targets),
    *(foreign_targets, export_targets),
    *(corpus_targets, table_targets, text_targets, study_targets),
    *(odd_file_targets, command_targets),
)
TARGETS: dict[str, Target] = {
    target.name: target for family in FAMILIES for target in family.TARGETS
}
