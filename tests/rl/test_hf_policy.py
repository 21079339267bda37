"""The policy ``hf``: one model for all episodes, its own tokens in its prompt, its checkpoint in the record."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.policies import PolicyOptions, PolicyStart, load_policy
from simia_gym.policies.base import Thinking

from .libraries import need
from .tiny import FORGETFUL, OFF, save_policy

need("torch", "transformers")

from simia_gym.actions import get_grammar
from simia_gym.rl.generation.generator import GenerationError
from simia_gym.rl.generation.policy import HFPolicies
from simia_gym.rl.sft.encode import encode
from simia_gym.rl.small.card import Card, write_card

START = PolicyStart(env="simia/webshop-v0", seed=3, tools=(), grammar=get_grammar("tools"))
OPENING = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Guess the digit."}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"))


def options(folder: Path, **more: Any) -> PolicyOptions:
    return PolicyOptions(model=str(folder), **{"max_tokens": 8, **more})


async def talk(source: HFPolicies, turns: int = 3, seed: int = 3) -> tuple[list[str], list[int]]:
    policy = source()
    policy.start(PolicyStart(env=START.env, seed=seed, tools=(), grammar=START.grammar))
    messages, said = list(OPENING), []
    for turn in range(turns):
        said.append(await policy.act(messages))
        messages += [{"role": "assistant", "content": "as the grammar reads it"}]
        messages += [{"role": "tool", "content": f"answer {turn}", "name": "guess"}]
    assert policy.conversation is not None
    return said, policy.conversation.ids


async def test_its_own_tokens_stand_in_its_prompt(folder: Path) -> None:
    source = HFPolicies(options(folder))
    said, ids = await talk(source)
    text = source.tokenizer.decode(ids)
    for words in said:
        assert words in text
    assert "as the grammar reads it" not in text
    assert text.count("<tool_response>\nanswer") == 2
    assert source.generator.statistics.reused > 0
    source.close()


async def test_chance_is_the_episodes_seed(folder: Path) -> None:
    one, two = HFPolicies(options(folder)), HFPolicies(options(folder))
    first, *others = await asyncio.gather(*(talk(one, seed=seed) for seed in (1, 2, 3)))
    assert await talk(two, seed=1) == first
    assert len({str(said) for said, _ in (first, *others)}) == 3
    one.close()
    two.close()


async def test_a_full_context_cuts_the_episode_and_a_failure_is_a_fault(folder: Path) -> None:
    source = HFPolicies(options(folder, extra={"max_length": 60}))
    with pytest.raises(Cut):
        await talk(source, turns=20)

    async def fail(*given: object) -> None:
        raise GenerationError("out of memory")

    source.generator.generate = fail  # type: ignore[assignment]
    with pytest.raises(Fault, match=r"generation.*out of memory") as caught:
        await source().act(OPENING)
    assert caught.value.role == "policy"
    source.close()
    small = HFPolicies(options(folder, extra={"max_length": 20}))
    with pytest.raises(Fault, match="prompt_too_long"):
        await small().act(OPENING)
    small.close()


@pytest.mark.parametrize(("thinking", "opening"), [("keep", ""), ("never", OFF)])
async def test_the_context_is_that_of_its_training(thinking: Thinking, opening: str, tmp_path: Path) -> None:
    folder = save_policy(tmp_path, template=FORGETFUL)
    write_card(folder, Card(thinking=thinking))
    source = HFPolicies(options(folder))
    said, ids = await talk(source)
    source.close()
    messages = [*OPENING]
    for turn, text in enumerate(said):
        messages += [{"role": "assistant", "content": text}]
        messages += [{"role": "tool", "content": f"answer {turn}", "name": "guess"}] * (turn < 2)
    row = encode(source.tokenizer, messages, thinking)
    # This model never ends a turn, as it would have to in training.
    read, trained = (re.sub(r"<\|im_end\|>\n?", "", source.tokenizer.decode(one)) for one in (ids, row.input_ids))
    assert read.count(f"<|im_start|>assistant\n{opening}") == 3
    assert trained == read
    with pytest.raises(InputError, match=f"policy.thinking.*trained with thinking '{thinking}', and '"):
        HFPolicies(options(folder, thinking="never" if thinking == "keep" else "keep"))


def test_the_limit_of_a_turn_is_that_of_its_training(folder: Path, tmp_path: Path) -> None:
    unknown = HFPolicies(PolicyOptions(model=str(folder))).sampling.max_tokens
    assert unknown == 512
    trained = save_policy(tmp_path / "trained")
    write_card(trained, Card(prompt="full"))
    assert HFPolicies(PolicyOptions(model=str(trained))).sampling.max_tokens == unknown
    write_card(trained, Card(prompt="full", turn_tokens=48))
    assert HFPolicies(PolicyOptions(model=str(trained))).sampling.max_tokens == 48
    assert HFPolicies(PolicyOptions(model=str(trained), max_tokens=9)).sampling.max_tokens == 9


async def test_turns_that_are_cut_are_counted_and_the_first_is_told(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = HFPolicies(options(folder, max_tokens=2))
    await talk(source, turns=3)
    source.close()
    assert source.cut_turns >= 2
    assert caplog.text.count("was cut at 2 tokens") == 1
    source = HFPolicies(PolicyOptions(model=str(folder), extra={"max_length": 80}))
    source.generator._ends = frozenset()  # this model never ends a turn by itself
    policy = source()
    await policy.act(OPENING)
    source.close()
    assert policy.conversation is not None
    assert len(policy.conversation.ids) >= 80
    assert "the context is full" in caplog.text


def test_another_checkpoint_is_another_policy(folder: Path, tmp_path: Path) -> None:
    same, other = save_policy(tmp_path / "same"), save_policy(tmp_path / "other", seed=1)
    hashes = [HFPolicies(options(place)).content_hash for place in (folder, same, other)]
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]
    (same / "optimizer.pt").write_bytes(b"no part of the policy")
    assert HFPolicies(options(same)).content_hash == hashes[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (PolicyOptions(), "needs a model.*--policy-model"),
        (PolicyOptions(model="/no/such/folder"), "there is no folder /no/such/folder"),
        (PolicyOptions(model="."), "no config.json"),
        (PolicyOptions(model="x", extra={"topp": 1}), "unknown setting 'topp'"),
    ],
)
def test_mistakes_are_named(given: PolicyOptions, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words):
        load_policy("hf", {}, given)


def test_a_rollout_is_resumed_with_the_same_checkpoint_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = save_policy(tmp_path / "model", length=4096)
    words = ["rollout", "simia/webshop-v0", "--policy", "hf", "--policy-model", str(model), "--episodes", "4"]
    words += ["--max-turns", "2", "--role", "policy.max_tokens=5", "--out", "record.jsonl", "--json"]
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert (result["valid"], result["policy"]) == (4, f"hf:{model}")
    assert result["length"] > 0, "turns that max_tokens cut"
    assert main([*words, "--resume"]) == 0
    save_policy(model, seed=1, length=4096)
    assert main([*words, "--resume"]) == 2
    assert "policy_hash" in capsys.readouterr().err
