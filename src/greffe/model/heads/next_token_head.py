"""The next-token head of causal language models."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from torch import Tensor, nn

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec
from greffe.kernels.linear import linear
from greffe.model.formulas import linear_formula
from greffe.model.heads.head import VocabularyHead, matrix_parameters


class NextTokenHead(HeadSpec):
    """Vocabulary scores for the next token."""

    by_piece: ClassVar[tuple[str, ...]] = ("weight", "bias")
    kind: Literal["next_token"] = "next_token"
    tied: bool = True
    """Use the embedding as the matrix."""

    @classmethod
    def for_model(cls, model: ModelSpec) -> Self:
        return cls(tied=model.tied)

    def build(self, model: ModelSpec, vocab: int) -> NextToken:
        return NextToken(model, vocab, tied=self.tied)

    def parameters(self, model: ModelSpec, vocab: int) -> Formula:
        matrix, in_matrix = matrix_parameters(model, vocab, tied=self.tied)
        if not model.embedding_width:
            return matrix, in_matrix
        layer, in_layer = linear_formula(model.width, model.token_width, bias=False)
        return f"{layer} + {matrix}", in_layer + in_matrix

    def outputs(self, vocab: int) -> int:
        return vocab


class NextToken(VocabularyHead):
    """The token that follows each token."""

    def __init__(self, model: ModelSpec, vocab: int, *, tied: bool) -> None:
        super().__init__(model, vocab, tied=tied)
        self.projection = (
            nn.Linear(model.width, model.token_width, bias=False) if model.embedding_width else None
        )
        """To the width of the embedding, if it is another."""

    def features(self, hidden: Tensor) -> Tensor:
        return hidden if self.projection is None else linear(hidden, self.projection.weight, None)
