"""The masked-token head of masked language models."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from torch import Tensor, nn

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec
from greffe.kernels.linear import linear, normalize
from greffe.model.formulas import linear_formula, norm_formula
from greffe.model.heads.head import VocabularyHead, matrix_parameters
from greffe.model.layers import activate, build_norm


class LayerAndVocabulary(HeadSpec):
    """Vocabulary scores, with one layer before the matrix."""

    by_piece: ClassVar[tuple[str, ...]] = ("weight", "bias")
    tied: bool = True
    """Use the embedding as the matrix."""

    @classmethod
    def for_model(cls, model: ModelSpec) -> Self:
        return cls(tied=model.tied)  # type: ignore[call-arg]  # a kind has a default for it

    def build(self, model: ModelSpec, vocab: int) -> MaskedToken:
        return MaskedToken(model, vocab, tied=self.tied)

    def parameters(self, model: ModelSpec, vocab: int) -> Formula:
        layer, in_layer = linear_formula(model.width, model.token_width, bias=model.linear_bias)
        norm, in_norm = norm_formula(model, model.token_width)
        matrix, in_matrix = matrix_parameters(model, vocab, tied=self.tied)
        return f"({layer}) + {norm} + {matrix}", in_layer + in_norm + in_matrix

    def outputs(self, vocab: int) -> int:
        return vocab


class MaskedTokenHead(LayerAndVocabulary):
    """Vocabulary scores for a hidden token, from its own state."""

    kind: Literal["masked_token"] = "masked_token"


class MaskedToken(VocabularyHead):
    """A layer and its activation, a norm, the vocabulary."""

    def __init__(self, model: ModelSpec, vocab: int, *, tied: bool) -> None:
        super().__init__(model, vocab, tied=tied)
        self.activation = model.head_activation
        self.transform = nn.Linear(model.width, model.token_width, bias=model.linear_bias)
        self.norm = build_norm(model, model.token_width)

    def features(self, hidden: Tensor) -> Tensor:
        transformed = linear(hidden, self.transform.weight, self.transform.bias)
        return normalize(activate(transformed, self.activation), self.norm)
