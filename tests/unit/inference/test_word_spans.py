from __future__ import annotations

import time
from pathlib import Path

import pytest
import sentencepiece

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import import_sentencepiece, train_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import DataError
from greffe.inference.word_spans import LONGEST_WORD, find_word_spans

SCRIPTS = [
    "Ce livre est, n° 12, très beau !",
    "  deux   espaces\n\n\tet des lignes\r\n  ",
    "e\u0301te\u0301 cœur naïf ½ ﬁn \uff21\uff22 … ¨ ﷺ",
    "русский текст, Ελληνικά κείμενα",
    "كتاب جميل جدا עברית יפה",
    "हिन्दी में किताब ক্ষ",
    "한국어 책 \u1112\u1161\u11ab\u1100\u116e\u11a8",
    "这本书很好看\uff0c我很喜欢。 本を読む のが好き",
    "หนังสือดีมาก ຫນັງສື មជ្ឈិម",
    "👩‍👩‍👧‍👦 ❤️ super 🇫🇷🙂🙂 fin",
    "\u3000plein\u00a0\u2003espace\u2028fin",
    "<mask> <sos> <0x41> ▁x▁▁ y",
    "x" * 300 + " https://exemple.fr/" + "chemin/" * 30 + " fin",
    "\0\x01\x1c\x7f \ufeff\u200b",
]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def trained(request: pytest.FixtureRequest, tiny_texts: list[str]) -> Tokenizer:
    texts = [*tiny_texts, *SCRIPTS[:10] * 3]
    return train_tokenizer(texts, TokenizerSpec(kind=request.param, vocab=700))


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def imported(
    request: pytest.FixtureRequest, tiny_texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Tokenizer:
    """One that folds white space and look-alike characters, and knows Latin letters alone."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "text.txt").write_text("\n".join(tiny_texts), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"),
        model_prefix=str(folder / "pieces"),
        model_type=request.param,
        vocab_size=120,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
    )
    return import_sentencepiece(Path(f"{folder}/pieces.model"))


def bare(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("text", SCRIPTS)
def test_words_join_to_the_text_and_own_their_tokens(trained: Tokenizer, text: str) -> None:
    spans = find_word_spans(trained, text)
    assert "".join(spans.words) == text
    assert spans.ids == trained.encode(text)
    assert len(spans.owners) == len(spans.ids)
    for number, word in enumerate(spans.words):
        own = [i for i, owner in zip(spans.ids, spans.owners, strict=True) if owner == number]
        assert bare(trained.decode(own)) == bare(trained.normalize(word)), word


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_normaliser_that_folds_changes_no_word(imported: Tokenizer, text: str) -> None:
    spans = find_word_spans(imported, text)
    assert "".join(spans.words) == text
    assert spans.ids == imported.encode(text)
    assert spans.owners == sorted(spans.owners)
    assert all(0 <= owner < len(spans.words) for owner in spans.owners)


def test_folded_spaces_and_ligatures_keep_their_words(imported: Tokenizer) -> None:
    spans = find_word_spans(imported, "  Ce   ﬁlm\u00a0 est beau ")
    assert spans.words == ["  ", "Ce   ", "ﬁlm\u00a0 ", "est ", "beau "]
    letters = [
        imported.decode([i for i, o in zip(spans.ids, spans.owners, strict=True) if o == number])
        for number in range(5)
    ]
    assert letters[0] == ""
    assert [letters[1], letters[3], letters[4]] == ["Ce", "est", "beau"]
    assert letters[2].endswith("ilm")


def test_words_keep_the_space_after_them(trained: Tokenizer) -> None:
    assert find_word_spans(trained, " Ce  livre\nest beau !").words == [
        " ",
        "Ce  ",
        "livre\n",
        "est ",
        "beau ",
        "!",
    ]


def test_a_lone_space_piece_belongs_to_the_word_it_begins(trained: Tokenizer) -> None:
    spans = find_word_spans(trained, "beau §§")
    owned = [trained.piece(i) for i, o in zip(spans.ids, spans.owners, strict=True) if o == 1]
    assert owned[0].startswith("▁")
    assert all(owner == 0 for owner in spans.owners[: spans.owners.index(1)])


def test_spaces_at_the_end_belong_to_the_last_word(trained: Tokenizer) -> None:
    spans = find_word_spans(trained, "beau   ")
    assert spans.words == ["beau   "]
    assert set(spans.owners) == {0}


@pytest.mark.parametrize("text", ["这本书很好看\uff0c我很喜欢。", "หนังสือดีมากอ่านสนุก"])
def test_scripts_without_spaces_are_cut_at_tokens(trained: Tokenizer, text: str) -> None:
    words = find_word_spans(trained, text).words
    assert len(words) > 2
    assert "".join(words) == text


def test_marks_and_joined_emoji_are_never_parted(trained: Tokenizer) -> None:
    text = "e\u0301" * 60 + "👩‍👩‍👧‍👦" * 10 + "本👩🏽‍🚀本"
    words = find_word_spans(trained, text).words
    assert "".join(words) == text
    assert len(words) > 1
    assert not any(word[0] in "\u0301\u200d👩👧👦🏽🚀" for word in words)


def test_letters_that_are_joined_stay_together(trained: Tokenizer) -> None:
    text = "क\u200dख" * 30
    words = find_word_spans(trained, text).words
    assert "".join(words) == text
    assert len(words) > 1
    assert all(word[-1] != "\u200d" for word in words)


def test_only_endless_words_are_cut(trained: Tokenizer) -> None:
    text = "x" * LONGEST_WORD + " " + "x" * (LONGEST_WORD + 1)
    first, *rest = find_word_spans(trained, text).words
    assert first == "x" * LONGEST_WORD + " "
    assert len(rest) > 1


def test_an_empty_text_has_no_words(trained: Tokenizer) -> None:
    spans = find_word_spans(trained, "")
    assert (spans.words, spans.ids, spans.owners) == ([], [], [])


def test_half_a_character_is_the_users_mistake(trained: Tokenizer) -> None:
    with pytest.raises(DataError, match="not valid Unicode"):
        find_word_spans(trained, "a \ud800 b")


def test_a_very_long_text_takes_no_more_than_its_length(trained: Tokenizer) -> None:
    began = time.process_time()
    spans = find_word_spans(trained, "好看" * 20_000 + " livre" * 20_000)
    assert time.process_time() - began < 5
    assert len(spans.words) > 20_000
