"""The next-token head of causal language models."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec
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

    def build(self, width: int, vocab: int) -> NextToken:
        return NextToken(width, vocab, tied=self.tied)

    def parameters(self, width: int, vocab: int) -> Formula:
        return matrix_parameters(width, vocab, tied=self.tied)

    def outputs(self, vocab: int) -> int:
        return vocab


class NextToken(VocabularyHead):
    """The token that follows each token."""
