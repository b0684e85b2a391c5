"""The document-words head: which words occur in the rest of a document?"""

from __future__ import annotations

from typing import Literal

from greffe.model.heads.masked_token_head import LayerAndVocabulary


class DocumentWordsHead(LayerAndVocabulary):
    """Vocabulary scores for the other half of a document, from the mean of this half's states."""

    kind: Literal["document_words"] = "document_words"
