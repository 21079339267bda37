"""Trajectories, data sets, and which tokens of them are learned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main
from simia_gym.errors import InputError
from simia_gym.rl.chat.trajectories import Trajectory
from simia_gym.rl.sft.files import read_trajectories, recorded_trajectories, write_trajectories
from simia_gym.rl.sft.gather import from_experts, from_files
from simia_gym.rl.sft.settings import SFTSettings

from .libraries import need

need("torch", "transformers", "tokenizers")

from simia_gym.rl.sft.encode import IGNORED, encode, encode_all
from simia_gym.rl.sft.run import gather
from simia_gym.rl.small.tokenizer import train_tokenizer

SHOP, RETAIL = "simia/webshop-v0", "simia/retail-v0"


@pytest.fixture(scope="module")
def played() -> list[Trajectory]:
    return from_experts([SHOP, RETAIL], 16, held_out=4, prompt="compact").train


@pytest.fixture(scope="module")
def tokenizer(played: list[Trajectory]) -> Any:
    return train_tokenizer([item.messages for item in played], vocab=1200)


def test_experts_give_whole_conversations_of_tasks_for_training(played: list[Trajectory]) -> None:
    assert [item.env for item in played] == [SHOP] * 8 + [RETAIL] * 8
    assert {item.split for item in played} == {"train"}
    assert all(item.success and item.reward == 1.0 and item.prompt == "compact" for item in played)
    for item in played:
        assert [message["role"] for message in item.messages[:3]] == ["system", "user", "assistant"]
    retail = [message for item in played[8:] for message in item.messages]
    assert {message["role"] for message in retail} == {"system", "user", "assistant", "tool"}
    assert all(message["name"] for message in retail if message["role"] == "tool")
    raw = [message["content"] for message in retail if message["role"] == "assistant"]
    assert any(text.startswith('<tool_call>\n{"name": ') for text in raw)


def test_what_is_held_out_is_of_other_tasks() -> None:
    found = from_experts([SHOP], 50, held_out=5)
    assert (len(found.train), len(found.held_out)) == (50, 5)
    assert {item.split for item in found.held_out} == {"dev"}
    assert sum(found.kinds.values()) == 50
    longer = from_experts([SHOP], 300, held_out=5, seed=1)
    assert [item.task for item in longer.held_out] == [item.task for item in found.held_out]
    assert {item.split for item in longer.train} == {"train"}


def _said(item: Trajectory) -> list[str]:
    return [message["content"] for message in item.messages if message["role"] == "assistant"]


@pytest.mark.parametrize(("turns", "whole_every"), [(1, None), (1, 3), (3, 3)])
def test_only_the_first_turns_are_kept_where_so_many_are_asked_for(
    played: list[Trajectory], turns: int, whole_every: int | None
) -> None:
    settings = SFTSettings(envs=(SHOP, RETAIL), policy="p", prompt="compact", trajectories=16, held_out=4)
    begun = gather(replace(settings, first_turns=turns, whole_every=whole_every))
    for short, whole in zip(begun.train, played, strict=True):
        assert short.messages == whole.messages[: len(short.messages)]
        said, all_said = len(_said(short)), len(_said(whole))
        kept = said == all_said
        assert kept or said == turns
        assert whole_every is not None or said == min(turns, all_said)
        assert kept or short.messages[-1]["role"] == "assistant"
        assert (short.task, short.reward) == (whole.task, whole.reward)
    lengths = [len(item.messages) for item in begun.held_out]
    assert len(lengths) == 4
    assert min(lengths) == 1 + 2 * turns


def test_the_same_seed_gives_the_same_trajectories() -> None:
    first, again, other = (from_experts([RETAIL], 6, seed=seed).train for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_another_policy_of_the_domain_may_be_imitated() -> None:
    plain = from_experts([RETAIL], 6, prompt="compact").train
    thinking = from_experts([RETAIL], 6, prompt="compact", expert="thinker").train
    assert [item.source for item in thinking] == ["thinker"] * 6
    for one, other in zip(plain, thinking, strict=True):
        assert len(one.messages) == len(other.messages)
        for said, thought in zip(one.messages, other.messages, strict=True):
            note, end, rest = str(thought["content"]).partition("</think>\n")
            assert (rest if end else note) == said["content"]
            assert bool(end) == (said["role"] == "assistant")
    with pytest.raises(InputError, match=r"simia/webshop-v0 has no policy 'thinker'"):
        from_experts([SHOP], 2, expert="thinker")


def test_learned_are_the_policys_texts_in_the_tokens_of_the_whole_conversation(
    played: list[Trajectory], tokenizer: Any
) -> None:
    for item in played:
        row = encode(tokenizer, item.messages)
        said = [token for token, label in zip(row.input_ids, row.labels, strict=True) if label != IGNORED]
        assert said == [label for label in row.labels if label != IGNORED]
        texts = [message["content"] for message in item.messages if message["role"] == "assistant"]
        assert tokenizer.decode(said) == "".join(f"{text}<|im_end|>" for text in texts)
        assert row.learned == len(said)
        last = max(at for at, message in enumerate(item.messages) if message["role"] == "assistant")
        whole = tokenizer.apply_chat_template(item.messages[: last + 1], return_dict=False)
        assert [*row.input_ids, *tokenizer.encode("\n")] == whole


def test_what_is_too_long_is_left_out_and_counted_never_cut(played: list[Trajectory], tokenizer: Any) -> None:
    talks = [item.messages for item in played]
    lengths = sorted(len(encode(tokenizer, messages).input_ids) for messages in talks)
    found = encode_all(tokenizer, talks, max_length=lengths[9])
    assert (len(found.rows), found.too_long, found.longest) == (10, 6, lengths[-1])
    assert sorted(len(row.input_ids) for row in found.rows) == lengths[:10]
    with pytest.raises(InputError, match="no conversation fits into 10 tokens"):
        encode_all(tokenizer, talks, max_length=10)


def test_a_conversation_that_no_episode_can_be_is_refused(tokenizer: Any) -> None:
    user, said = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    for messages in ([user], [said, user], [user, said, said]):
        with pytest.raises(InputError):
            encode(tokenizer, messages)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_a_data_set_comes_back(tmp_path: Path, played: list[Trajectory], name: str) -> None:
    if name.endswith("parquet"):
        need("datasets")
    path = tmp_path / name
    assert write_trajectories(path, played) == 16
    assert list(read_trajectories(path)) == played


def test_calls_in_the_openai_layout_become_what_a_policy_says(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "get", "arguments": '{"id": "#W1"}'}}
    row = {
        "domain": "retail",
        "reward": 1.0,
        "messages": [
            {"role": "assistant", "content": "Hi! How can I help?"},
            {"role": "user", "content": "Where is my order?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "lost", "tool_call_id": "1", "name": "get"},
            {"role": "assistant", "content": "Once more.", "tool_calls": [call]},
            {"role": "tool", "content": "lost", "tool_call_id": "1", "name": "get"},
            {"role": "assistant", "content": "It is lost."},
        ],
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (found,) = read_trajectories(path, system={"retail": "Be kind."}.get, prompt="compact")
    said = '<tool_call>\n{"name": "get", "arguments": {"id": "#W1"}}\n</tool_call>'
    assert found is not None
    assert found.prompt == "compact"
    assert found.messages == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": said},
        {"role": "tool", "content": "lost", "name": "get"},
        {"role": "assistant", "content": f"Once more.\n{said}"},
        {"role": "tool", "content": "lost", "name": "get"},
        {"role": "assistant", "content": "It is lost."},
    ]


def test_records_of_a_rollout_give_what_was_said_word_for_word(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    for policy, name in (("expert", path), ("claimer", tmp_path / "bad.jsonl")):
        words = ["rollout", RETAIL, "--policy", policy, "--prompt", "compact", "--episodes", "5", "--out", str(name)]
        assert main(words) == 0
    recorded = [item for item in recorded_trajectories(path) if item is not None]
    assert len(recorded) == 5
    for item in recorded:
        assert item.messages[0]["content"].startswith("You are customer service")
        assert any(message["content"].startswith("<tool_call>") for message in item.messages)
        assert item.success
        assert item.source == "expert"
    both = from_files([path, tmp_path / "bad.jsonl"], held_out=1)
    assert (len(both.train), len(both.held_out), both.below) == (4, 1, 5)
    with pytest.raises(InputError, match="no conversation in it has enough reward"):
        from_files([tmp_path / "bad.jsonl"])


def test_tasks_for_testing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    words = ["rollout", SHOP, "--policy", "expert", "--split", "test", "--episodes", "1", "--out", str(path)]
    assert main(words) == 0
    with pytest.raises(InputError, match="is a test task"):
        list(recorded_trajectories(path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trajectories": 0}, "one source of trajectories"),
        ({"data": ("a",)}, "one source of trajectories"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"lr": 0.0}, "lr is 0"),
        ({"prompt": "short"}, "prompt is 'short'"),
        ({"micro_batch": 3}, "cannot be computed in parts of 3"),
        ({"envs": ()}, "no environment"),
        ({"first_turns": 0}, "first_turns is 0"),
        ({"held_out": -1}, "held_out is -1"),
        ({"extra": {"learning_rate": 1.0}}, "learning_rate has an option of its own. Use --lr"),
        ({"whole_every": 10}, "all trajectories are whole"),
        ({"data": ("a",), "trajectories": None, "expert": "thinker"}, "expert: nobody plays"),
        ({"first_turns": 1, "whole_every": 0}, "whole_every is 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, Any], said: str) -> None:
    settings = SFTSettings(envs=(SHOP,), policy="p", trajectories=4)
    with pytest.raises(InputError, match=said):
        replace(settings, **change)
