from __future__ import annotations

from string import Formatter

from greffe.samples.lexicon import NEGATIVE, NEUTRAL, OPINIONS, POSITIVE, TOPICS

SLOTS = {
    *("subject", "reader"),
    *(f"{kind}{end}" for kind in ("adjective", "verb", "noun") for end in ("", "_2", "_3")),
}


def test_both_sentiments_have_equally_many_words_of_each_kind_and_share_none() -> None:
    assert not POSITIVE.words & NEGATIVE.words
    for kind in ("adjectives", "verbs", "masculine", "feminine"):
        positive, negative = getattr(POSITIVE, kind), getattr(NEGATIVE, kind)
        assert len(set(positive)) == len(positive) == len(negative) == len(set(negative))
    assert len(POSITIVE.words) == len(NEGATIVE.words) >= 60


def test_nouns_come_with_the_article_of_their_gender() -> None:
    for sentiment in (POSITIVE, NEGATIVE):
        assert len(sentiment.nouns) == len(sentiment.masculine) + len(sentiment.feminine)
        assert f"un {sentiment.masculine[0]}" in sentiment.nouns
        assert f"une {sentiment.feminine[0]}" in sentiment.nouns


def test_an_opinion_has_as_many_sentiment_words_as_it_says() -> None:
    for count, sentences in OPINIONS.items():
        for sentence in sentences:
            slots = [name for _, name, _, _ in Formatter().parse(sentence) if name]
            assert set(slots) <= SLOTS
            assert len([name for name in slots if name not in ("subject", "reader")]) == count


def test_neutral_sentences_have_no_sentiment_words() -> None:
    scenes = [scene for topic in TOPICS for scene in topic.scenes]
    words = {word for sentence in (*NEUTRAL, *scenes) for word in sentence.split()}
    assert not words & (POSITIVE.words | NEGATIVE.words)
