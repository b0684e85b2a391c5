"""What pieces stand for."""

from __future__ import annotations

import pytest
from tokenizers import pre_tokenizers

from greffe.data.spelling import (
    ByteLevelSpelling,
    PlainSpelling,
    SpaceMarkSpelling,
    Spelling,
    WordPieceSpelling,
    spell_bytes,
)


def test_the_alphabet_of_bytes_is_that_of_the_library() -> None:
    assert set(spell_bytes(bytes(range(256)))) == set(pre_tokenizers.ByteLevel.alphabet())
    text = "é à\n中\t!"
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    [(spelled, _)] = splitter.pre_tokenize_str(text)
    assert spell_bytes(text.encode()) == spelled
    assert ByteLevelSpelling().text(spelled).decode() == text


@pytest.mark.parametrize(
    ("spelling", "piece", "text", "starts"),
    [
        (WordPieceSpelling("##"), "livre", " livre", True),
        (WordPieceSpelling("##"), "##re", "re", False),
        (WordPieceSpelling("##"), ",", ",", True),
        (WordPieceSpelling("##"), "书", "书", True),
        (WordPieceSpelling("##"), "👍", " 👍", True),
        (ByteLevelSpelling(), "Ġlivre", " livre", True),
        (ByteLevelSpelling(), "Ã©", "é", False),
        (ByteLevelSpelling(), "Ċ", "\n", True),
        (SpaceMarkSpelling("▁", has_bytes=True), "▁livre", " livre", True),
        (SpaceMarkSpelling("▁", has_bytes=True), "re", "re", False),
        (SpaceMarkSpelling("▁", has_bytes=False), "<0x41>", "<0x41>", False),
        (PlainSpelling(""), "livre", " livre", True),
    ],
)
def test_from_a_piece_to_its_text_and_back(
    spelling: Spelling, piece: str, text: str, starts: bool
) -> None:
    assert spelling.text(piece).decode() == text
    assert spelling.piece(text).strip() in (piece, text.strip())
    assert spelling.starts_word(piece) == starts


def test_bytes_and_suffixes() -> None:
    assert SpaceMarkSpelling("▁", has_bytes=True).text("<0xE9>") == b"\xe9"
    assert PlainSpelling("</w>").text("livre</w>") == b"livre "
    assert PlainSpelling("</w>").text("li") == b"li"
    assert WordPieceSpelling("##").text("##") == b"##"
