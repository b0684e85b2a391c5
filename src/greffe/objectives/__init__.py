"""Objectives: what is learnt. The one place where data meets model, one file each."""

from __future__ import annotations

from greffe.config.recipe import Causal, Classification, Hybrid, Masked, NextSentence, ObjectiveSpec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RecipeError
from greffe.objectives.causal import CausalObjective
from greffe.objectives.hybrid import HybridObjective
from greffe.objectives.masked import MaskedObjective
from greffe.objectives.next_sentence import NextSentenceObjective
from greffe.objectives.objective import LanguageObjective


def build_language_objective(
    spec: ObjectiveSpec, tokenizer: Tokenizer, *, tied: bool
) -> LanguageObjective:
    """The pretraining objective that a recipe names."""
    match spec:
        case Causal():
            return CausalObjective(tokenizer, tied)
        case Masked():
            return MaskedObjective(spec, tokenizer, tied)
        case NextSentence():
            return NextSentenceObjective(spec, tokenizer, tied)
        case Hybrid():
            return HybridObjective(spec, tokenizer, tied)
        case Classification():
            raise RecipeError(
                "A recipe with the objective 'classification' cannot be pretrained.",
                expected="objective.kind = causal, masked, next_sentence or hybrid",
                hint="greffe finetune teaches classes; --objective masked grows a base",
            )
