"""New policies: the tokenizer, its phrases, the model, and heads that copy."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main
from simia_gym.errors import InputError
from simia_gym.rl.small.logits import plain_logits
from simia_gym.rl.small.phrases import find_phrases

from .libraries import need

need("torch", "transformers", "tokenizers")

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from simia_gym.rl.small.build import build_policy, conversations_of
from simia_gym.rl.small.card import Card, read_card, write_card
from simia_gym.rl.small.model import SIZES, make_model
from simia_gym.rl.small.tokenizer import LEAST_VOCAB, train_tokenizer


@pytest.mark.parametrize(
    ("kind", "given", "plain"),
    [
        ("qwen3", {}, True),
        ("llama", {}, True),
        ("granite", {}, True),
        ("granite", {"logits_scaling": 8.0}, False),
        ("cohere", {}, False),
        ("cohere", {"logit_scale": 1.0}, True),
        ("gemma2", {}, False),
        ("gemma2", {"final_logit_softcapping": None}, True),
        ("gemma3", {}, True),
        ("gemma3", {"text_config": {"final_logit_softcapping": 30.0}}, False),
    ],
)
def test_models_of_transformers(kind: str, given: dict[str, Any], plain: bool) -> None:
    assert plain_logits(AutoConfig.for_model(kind, **given)) is plain


SHOP, RETAIL = "simia/webshop-v0", "simia/retail-v0"


@pytest.fixture(scope="module")
def talks() -> list[list[dict[str, Any]]]:
    return [*conversations_of(SHOP, 24), *conversations_of(RETAIL, 24)]


@pytest.fixture(scope="module")
def tokenizer(talks: list[list[dict[str, Any]]]) -> Any:
    return train_tokenizer(talks, vocab=2000)


def tokens(tokenizer: Any, text: str) -> list[str]:
    return [tokenizer.decode([item]) for item in tokenizer.encode(text, add_special_tokens=False)]


def test_every_text_comes_back(tokenizer: Any, talks: list[list[dict[str, Any]]]) -> None:
    texts = [message["content"] for talk in talks for message in talk]
    for text in [*texts, "Größe 10½ — ≤ 3\t\r\n 漢字 🙂  two  spaces "]:
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_an_id_is_written_alike_wherever_it_stands(tokenizer: Any) -> None:
    for value in ("b0m8k9zhx1", "9227182311", "W9429697", "sweet and spicy"):
        in_json = tokens(tokenizer, f'{{"clickables": ["back", "{value}", "end"]}}')
        in_action = tokens(tokenizer, f"click[{value}]")
        alone = tokens(tokenizer, value)
        for whole in (in_json, in_action):
            places = [at for at in range(len(whole)) if whole[at : at + len(alone)] == alone]
            assert places, (value, alone, whole)


def test_ids_are_cut_into_few_parts_and_digits_never_stand_in_words(tokenizer: Any) -> None:
    cut = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str
    assert [word for word, _ in cut("[b0m8k9zhxa] 9227182311 #W9429697 nadia_7 16oz")] == [
        *("[", "b0", "m8", "k9", "zh", "xa", "]Ġ"),
        *("922", "718", "231", "1", "Ġ", "#", "W9", "429", "697", "Ġnadia", "_", "7", "Ġ", "16", "oz"),
    ]
    for token, number in tokenizer.get_vocab().items():
        if number not in tokenizer.added_tokens_decoder and any(letter.isdigit() for letter in token):
            assert len(token) <= 3, token


def test_a_line_break_is_a_token_of_its_own(tokenizer: Any) -> None:
    assert len(tokenizer.encode("\n", add_special_tokens=False)) == 1
    assert tokens(tokenizer, "a\n\nb") == ["a", "\n", "\n", "b"]
    assert not [item for item in tokenizer.added_tokens_decoder.values() if item.content.startswith("\n")]


def test_phrases_hold_what_all_say_and_not_what_the_policy_copies() -> None:
    colours = ["red", "blue", "green", "black"]
    # Every page offers every colour; each policy says its own.
    documents = [[["Price", ": ", "$"], [word for colour in colours for word in (colour, "] ", "[")]] for _ in colours]
    said = [[colour] for colour in colours]
    assert set(find_phrases(documents, said, share=0.6, most=10)) == {"Price: $", "] ["}
    assert "red] [blue" in "".join(find_phrases(documents, [[]] * 4, share=0.6, most=10))
    assert find_phrases(documents, said, share=0.6, most=1) == ["] ["]
    with_digit = [[["Page", " ", "1"]]] * 4
    assert find_phrases(with_digit, [[]] * 4, share=0.5, most=10) == ["Page "]


def test_phrases_make_conversations_short(talks: list[list[dict[str, Any]]], tokenizer: Any) -> None:
    without = train_tokenizer(talks, vocab=2000, phrases=0)
    long, short = (
        sum(len(made.encode(message["content"])) for talk in talks for message in talk) for made in (without, tokenizer)
    )
    assert short < 0.6 * long
    assert len(tokenizer) <= 2000


def test_a_vocabulary_too_small_for_all_bytes_is_refused(talks: list[list[dict[str, Any]]]) -> None:
    with pytest.raises(InputError, match="cannot hold all bytes"):
        train_tokenizer(talks, vocab=LEAST_VOCAB - 1)
    assert len(train_tokenizer(talks, vocab=LEAST_VOCAB)) == LEAST_VOCAB
    with pytest.raises(InputError, match="no text"):
        train_tokenizer([])


def test_a_model_has_an_output_for_each_token_and_its_weights_follow_the_seed(tokenizer: Any) -> None:
    made = [make_model(SIZES["tiny"], tokenizer, max_length=512, seed=seed) for seed in (0, 0, 1)]
    assert made[0].config.vocab_size == len(tokenizer) == made[0].get_output_embeddings().weight.shape[0]
    first, same, other = (model.state_dict()["model.layers.0.mlp.up_proj.weight"] for model in made)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_a_shape_can_be_altered() -> None:
    size = SIZES["base"].altered(layers=3, hidden=128, heads=4)
    assert (size.layers, size.hidden, size.heads, size.kv_heads, size.head_dim) == (3, 128, 4, 4, 32)
    with pytest.raises(InputError, match="layers is 0"):
        SIZES["small"].altered(layers=0, hidden=None, heads=None)


def test_a_new_policy_is_a_folder_that_transformers_loads(tmp_path: Path) -> None:
    said: list[str] = []
    folder = build_policy(tmp_path / "new", SHOP, size="tiny", conversations=8, vocab=800, say=said.append)
    model, loaded = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.config.model_type == "qwen3"
    assert model.config.vocab_size == len(loaded)
    assert loaded.chat_template
    assert loaded.decode(loaded.encode("<tool_call>"), skip_special_tokens=True) == "<tool_call>"
    ids = loaded.apply_chat_template([{"role": "user", "content": "hello"}], return_tensors="pt", return_dict=True)
    assert model.generate(**ids, max_new_tokens=3).shape[1] > ids["input_ids"].shape[1]
    card = read_card(folder)
    assert card is not None
    assert (card.envs, card.prompt) == ((SHOP,), None)
    assert {"size": "tiny", "seed": 0, "copying": False, "expert": "expert"}.items() <= card.made.items()
    assert len(said) == 3
    with pytest.raises(InputError, match="there is a model already"):
        build_policy(folder, SHOP)
    with pytest.raises(InputError, match="no size 'huge'"):
        build_policy(tmp_path / "other", SHOP, size="huge")


def test_a_card_comes_back_and_a_broken_one_is_named(tmp_path: Path) -> None:
    assert read_card(tmp_path) is None
    card = Card(envs=("a", "b"), prompt="compact", made={"seed": 1}, trained=({"how": "sft"},), turn_tokens=48)
    write_card(tmp_path, card)
    assert read_card(tmp_path) == card
    write_card(tmp_path, replace(card, turn_tokens=None))
    assert "turn_tokens" not in json.loads((tmp_path / "simia.json").read_text())  # as before there was such a thing
    assert read_card(tmp_path) == replace(card, turn_tokens=None)
    (tmp_path / "simia.json").write_text(json.dumps([1]))
    with pytest.raises(InputError, match="cannot be read"):
        read_card(tmp_path)


VOCAB = 4000


class Vocabulary:
    """What a model is told of its tokenizer."""

    eos_token_id, pad_token_id = 2, 0

    def __len__(self) -> int:
        return VOCAB

    def decode(self, ids: list[int]) -> str:
        """Two tokens a word: in the midst of a text, and at the beginning of a title."""
        return f"w{ids[0] // 2}" if ids[0] % 2 else f" W{ids[0] // 2}"


def model(size: str, *, copying: bool, seed: int = 0) -> Any:
    return make_model(SIZES[size], Vocabulary(), max_length=2048, seed=seed, copying=copying).eval()


def copied(policy: Any, *, page: int, seed: int, other_form: bool = False) -> float:
    """The share of words that are continued rightly, where a stretch of a page of random words comes again."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.stack([2 * torch.randperm(VOCAB // 2, generator=generator)[:page] for _ in range(4)])
    again = rows[:, page // 4 : page // 4 + 20] + other_form
    with torch.no_grad():
        found = policy(torch.cat([rows, again], dim=1)).logits[:, page:-1].argmax(-1)
    return float((found // 2 == again[:, 1:] // 2).float().mean())


@pytest.mark.parametrize(("page", "seed"), [(40, 0), (200, 1), (1000, 2)])
def test_what_was_never_seen_is_copied_without_any_training(page: int, seed: int) -> None:
    made = model("small", copying=True, seed=seed)
    assert copied(made, page=page, seed=seed) > 0.6
    assert copied(made, page=page, seed=seed, other_form=True) > 0.6
    assert copied(model("small", copying=False, seed=seed), page=page, seed=seed) < 0.05


@pytest.mark.parametrize(("size", "least"), [("tiny", 0.15), ("base", 0.5)])
def test_other_shapes_copy_too_as_far_as_a_head_can_tell_tokens_apart(size: str, least: float) -> None:
    assert copied(model(size, copying=True), page=100, seed=0) > least


@pytest.mark.parametrize("shape", [["--size", "large"], ["--size", "tiny", "--hidden", "32", "--heads", "4"]])
def test_a_model_too_wide_for_it_or_with_heads_too_narrow_is_refused(
    shape: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-policy", str(tmp_path), "--env", "simia/webshop-v0", *shape, "--copying"]) == 2
    assert "made for small models" in capsys.readouterr().err


def test_the_command_writes_them_when_asked(tmp_path: Path) -> None:
    words = ["--env", "simia/webshop-v0", "--size", "tiny", "--vocab", "1500"]
    assert main(["new-policy", str(tmp_path), *words, "--copying"]) == 0
    card = read_card(tmp_path)
    assert card is not None
    assert card.made["copying"]
    assert AutoModelForCausalLM.from_pretrained(tmp_path).model.embed_tokens.weight[:, 0].std() == 0
