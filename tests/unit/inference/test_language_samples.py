from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from greffe.config.recipe import Recipe
from greffe.data.tokenizer import Tokenizer
from greffe.inference.fill import fill
from greffe.inference.generate import generate_text
from greffe.inference.language_samples import (
    GAP_WORDS,
    LanguageSample,
    language_samples,
    model_samples,
)
from greffe.model.model import Model
from greffe.model.weights import save_tensors
from greffe.run import Manifest, RunDirectory, new_lineage

PROMPTS = ["Ce roman"]
TEXTS = ["Cette histoire est magnifique et je le relirai.", "Le film reste décevant, hélas."]


def kinds(samples: list[LanguageSample]) -> list[str]:
    return [sample.kind for sample in samples]


def test_a_causal_base_continues_prompts_and_beginnings(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("next_token")
    samples = model_samples(model, tiny_tokenizer, PROMPTS, 7, texts=TEXTS)
    prompts = ["Ce roman", "Cette histoire est", "Le film reste"]
    assert [sample.prompt for sample in samples] == prompts
    for sample in samples:
        assert sample.kind == "generated"
        assert sample.text == generate_text(model, tiny_tokenizer, sample.prompt, seed=7)
        assert sample.text.startswith(sample.prompt) and len(sample.text) > len(sample.prompt)
        assert sample.words == []


def test_a_masked_base_fills_one_long_word_of_each_text(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("masked_token")
    samples = model_samples(model, tiny_tokenizer, PROMPTS, 0, texts=TEXTS)
    assert kinds(samples) == ["filled", "filled"]
    for sample, text in zip(samples, TEXTS, strict=True):
        before, after = sample.prompt.split("<mask>")
        hidden = text.removeprefix(before).removesuffix(after)
        assert before + hidden + after == text
        assert hidden.isalpha() and len(hidden) >= 5
        [fillings] = fill(model, tiny_tokenizer, sample.prompt)
        assert sample.words == [(filling.word, filling.probability) for filling in fillings]
        assert len(sample.words) == 5
        assert sample.text == ""


def test_a_hybrid_base_does_both_and_a_classifier_neither(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    both = make_wide("next_token", "masked_token")
    samples = model_samples(both, tiny_tokenizer, PROMPTS, 0, texts=TEXTS)
    assert kinds(samples) == ["generated"] * 3 + ["filled"] * 2
    neither = make_wide("classification")
    assert model_samples(neither, tiny_tokenizer, PROMPTS, 0, texts=TEXTS) == []


def test_the_same_seed_gives_the_same_and_another_one_others(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("next_token", "masked_token", layers=1)
    texts = ["Cette histoire semble toujours vraiment magnifique, pourtant décevant partout."]
    first = model_samples(model, tiny_tokenizer, PROMPTS, 1, texts=texts)
    assert model_samples(model, tiny_tokenizer, PROMPTS, 1, texts=texts) == first
    assert model.training
    others = [model_samples(model, tiny_tokenizer, PROMPTS, seed, texts=texts) for seed in range(4)]
    assert len({samples[0].text for samples in others}) > 1
    assert len({samples[-1].prompt for samples in others}) > 1


def test_a_word_of_one_piece_is_hidden_if_there_is_one(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("masked_token")
    text = "Un anticonstitutionnel zygomatique magnifique extraordinaire"
    for seed in range(5):
        [sample] = model_samples(model, tiny_tokenizer, [], seed, texts=[text])
        assert sample.prompt == text.replace("magnifique", "<mask>")
    unknown = "Un zygomatique"
    [sample] = model_samples(model, tiny_tokenizer, [], 0, texts=[unknown])
    assert sample.prompt == "Un <mask>"


def test_only_a_word_after_a_space_is_hidden(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    """Elsewhere no piece that begins a word would fit."""
    model = make_wide("masked_token")
    texts = ["Magnifique, l'histoire", "(magnifique) auteur-éditeur"]
    [sample] = model_samples(model, tiny_tokenizer, [], 0, texts=texts)
    assert sample.prompt == "(magnifique) <mask>-éditeur"


def test_two_texts_are_enough_and_useless_ones_are_passed_over(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("next_token", "masked_token")
    texts = ["", "  \n", "1234567 ah !", *TEXTS, "Un ouvrage excellent"]
    samples = model_samples(model, tiny_tokenizer, [], 0, texts=texts)
    assert [sample.prompt for sample in samples[:2]] == ["1234567 ah !", "Cette histoire est"]
    assert kinds(samples) == ["generated"] * 2 + ["filled"] * 2
    assert [sample.prompt.split()[0] for sample in samples[2:]] == ["Cette", "Le"]


def test_a_prompt_is_continued_once(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_wide("next_token")
    prompts = ["Le film reste", "Le film reste"]
    samples = model_samples(model, tiny_tokenizer, prompts, 0, texts=TEXTS[1:])
    assert [sample.prompt for sample in samples] == ["Le film reste"]


def test_long_texts_are_shown_by_their_beginning(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_wide("masked_token")
    [sample] = model_samples(model, tiny_tokenizer, [], 0, texts=["Le  film\nmagnifique " * 100])
    words = sample.prompt.split(" ")
    assert len(words) == GAP_WORDS
    assert words.count("<mask>") == 1


def test_a_text_with_a_mask_keeps_it(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_wide("masked_token")
    text = "Ce livre <mask> magnifique et <mask>."
    [sample] = model_samples(model, tiny_tokenizer, [], 0, texts=[text])
    assert sample.prompt == text
    expected = fill(model, tiny_tokenizer, text)[0]
    assert [word for word, _ in sample.words] == [filling.word for filling in expected]


@pytest.fixture
def run(tmp_path: Path, tiny_tokenizer: Tokenizer, make_wide: Any) -> tuple[RunDirectory, Model]:
    model: Model = make_wide("next_token", "masked_token")
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    tiny_tokenizer.save(run.tokenizer_path)
    run.write_recipe(Recipe(model=model.spec))
    lineage = new_lineage(threads=1, initial_base="", tokenizer=tiny_tokenizer.fingerprint, data={})
    run.write_manifest(
        Manifest(
            kind="language-model",
            status="finished",
            vocab=tiny_tokenizer.size,
            heads=model.head_specs,
            directions=["causal", "bidirectional"],
            lineage=lineage,
            weights=save_tensors(run.weights_path, model.state_dict()),
        )
    )
    return run, model


def test_samples_of_a_run_are_those_of_its_model(
    run: tuple[RunDirectory, Model], tiny_tokenizer: Tokenizer
) -> None:
    directory, model = run
    found = language_samples(directory, PROMPTS, 3, texts=TEXTS)
    name = directory.name
    assert found == model_samples(model, tiny_tokenizer, PROMPTS, 3, texts=TEXTS, run=name)
