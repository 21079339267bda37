"""A real training whose world is played by a model that fails: what is masked, what is counted, and what is learnt."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from .libraries import need

need("torch", "verl", "ray", "transfer_queue", "hydra")

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.rl.chat.tokens import Conversation
from simia_gym.rl.grpo.episodes import EpisodeLine, read_episodes
from simia_gym.rl.grpo.metrics import read_metrics
from simia_gym.rl.grpo.process import marked
from simia_gym.rl.grpo.run_folder import RunFolder
from simia_gym.rl.small.build import build_policy
from simia_gym.types import Message

from .test_grpo_runs import RETAIL, letters, trained

__all__ = ["letters"]

pytestmark = [pytest.mark.slow_rl, pytest.mark.slow]

STEPS, GROUPS, GROUP_SIZE, TURNS = 3, 5, 2, 6
SAID = ("sure", "no")
"""What the policy says to the user: the letter that decides the reward is in one of them."""
CALL = '<tool_call>{"name": "get_product_details", "arguments": {"product_id": "%d"}}</tool_call>'
"""What it asks the simulator, with one of ten digits: the same call in the same state is answered only once a group."""
IMITATED = 320


def taught(policy: Path, domain: Path) -> Path:
    """Let a policy with random weights imitate the actions above: two calls of three, and the two words alike often."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(policy)
    model = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32).train()
    suite = load_suite(EnvConfig("simia/custom-v0", domain=str(domain), prompt="compact", split="train"))
    openings = []
    for task in suite.tasks[:6]:
        episode = suite.episode()
        openings.append(run_sync(episode.reset(task, seed=0), inline=episode.inline).messages)
    chance, optimizer = random.Random(0), torch.optim.AdamW(model.parameters(), lr=3e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, IMITATED)
    for _ in range(IMITATED):
        ids, mask = _talk(tokenizer, chance.choice(openings), chance)
        tokens = torch.tensor([ids])
        labels = tokens.masked_fill(torch.tensor([mask]) == 0, -100)
        optimizer.zero_grad()
        model(input_ids=tokens, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        decay.step()
    model.save_pretrained(policy)
    return policy


def _talk(tokenizer: Any, opening: Sequence[Message], chance: random.Random) -> tuple[list[int], list[int]]:
    """A conversation of such actions, and which of its tokens are the policy's."""
    talk = Conversation(tokenizer, list(opening))
    for turn in range(TURNS):
        called = chance.random() < 2 / 3
        action = CALL % chance.randrange(10) if called else chance.choice(SAID)
        talk.said([*tokenizer.encode(action, add_special_tokens=False), tokenizer.eos_token_id], None)
        if turn < TURNS - 1:
            heard: Message = {"role": "tool" if called else "user", "content": "{}" if called else "Please help me."}
            talk.heard([heard])
    return talk.ids, talk.mask


def test_every_tenth_answer_fails_and_training_goes_on(letters: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    policy = taught(build_policy(tmp_path / "policy", [RETAIL], conversations=40, hidden=64, heads=2), letters)
    words = [str(letters), "--policy", str(policy), "--steps", STEPS, "--groups", GROUPS, "--group-size", GROUP_SIZE]
    words += ["--max-turns", TURNS, "--turn-tokens", 64, "--lr", "1e-3", "--val-every", 0, "--save-every", STEPS]
    words += ["--simulator", "llm", "--strategy", "ledger", "--model", "oracle", "--role", "simulator.retries=0"]
    with serve_in_thread(OracleOptions(domains=(letters,), fault_rate=0.1, hang=1.0, seed=1)) as oracle:
        last = trained(run, *map(str, words), "--base-url", oracle.base_url)
        failed, asked = oracle.counts["faults"], oracle.counts["requests"]
    assert not marked(run)
    played = list(read_episodes(run))
    masked = [line for line in played if not line.valid]
    lines = read_metrics(RunFolder(run).metrics)
    assert masked, (failed, asked)
    assert failed
    assert asked["ledger"] > len(masked)

    # A fault is no reward, and whoever met none has one.
    assert len(played) == STEPS * GROUPS * GROUP_SIZE
    for line in played:
        assert line.valid == (line.fault is None)
        assert (line.reward is None) == (line.fault is not None)
    assert {line.fault["role"] for line in masked if line.fault} == {"simulator"}

    # A group is so many episodes of one task, also as verl sees it.
    groups = by_group(played)
    assert [len(group) for group in groups] == [GROUP_SIZE] * (STEPS * GROUPS)
    assert all(len({(line.task, line.group) for line in group}) == 1 for group in groups)

    # Every step was made, and says what it had to leave out.
    assert [measured["step"] for measured in lines] == list(range(1, STEPS + 1))
    for measured in lines:
        train, of_step = measured["train"], [item for item in played if item.step == measured["step"]]
        left_out = [item for item in of_step if not item.valid]
        assert (train["episodes"], train["masked"]) == (GROUPS * GROUP_SIZE, len(left_out))
        assert train["valid_share"] == pytest.approx(1 - len(left_out) / len(of_step))
        assert train["faults"] == kinds(left_out)
        rewards = [item.reward for item in of_step if item.reward is not None]
        assert train["reward"] == pytest.approx(fmean(rewards))
        check_advantages(measured["verl"], of_step)
    assert max(measured["verl"]["actor/grad_norm"] for measured in lines) > 0
    assert (last["steps"], last["episodes"], last["masked"]) == (STEPS, len(played), len(masked))
    assert last["faults"] == kinds(masked)

    # Groups of which one episode alone was left are among those whose advantages were checked: they taught nothing.
    assert any(sum(item.valid for item in group) == 1 for group in groups)


def kinds(episodes: Sequence[EpisodeLine]) -> dict[str, int]:
    return dict(Counter(f"{line.fault['role']}:{line.fault['kind']}" for line in episodes if line.fault))


def by_group(episodes: Sequence[EpisodeLine]) -> list[list[EpisodeLine]]:
    groups: dict[tuple[int, str], list[EpisodeLine]] = defaultdict(list)
    for line in episodes:
        groups[line.step, line.uid].append(line)
    return list(groups.values())


def check_advantages(verl: dict[str, float], episodes: Sequence[EpisodeLine]) -> None:
    """What verl trained on is what the episodes' lines come to: without faults, and without who is left alone."""
    weighted: list[tuple[float, int]] = []
    for group in by_group(episodes):
        valid = [(line.reward, line.tokens) for line in group if line.reward is not None]
        if len(valid) > 1:
            rewards = [reward for reward, _ in valid]
            spread = stdev(rewards) + 1e-6
            weighted += [((reward - fmean(rewards)) / spread, tokens) for reward, tokens in valid]
    shares = [verl[f"training/{name}_share"] for name in ("valid", "masked", "teaching")]
    counted = sum(line.valid for line in episodes)
    expected = [count / len(episodes) for count in (counted, len(episodes) - counted, len(weighted))]
    assert shares == pytest.approx(expected)
    mean = math.fsum(value * tokens for value, tokens in weighted) / sum(tokens for _, tokens in weighted)
    assert verl["critic/advantages/max"] == pytest.approx(max(value for value, _ in weighted), abs=1e-4)
    assert verl["critic/advantages/min"] == pytest.approx(min(value for value, _ in weighted), abs=1e-4)
    assert verl["critic/advantages/mean"] == pytest.approx(mean, abs=1e-4)
    assert math.isfinite(verl["actor/grad_norm"])
    assert (verl["actor/grad_norm"] > 0) == any(value for value, _ in weighted)
