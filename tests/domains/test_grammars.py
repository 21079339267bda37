"""Several grammars under names: everything follows the one that is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.evaluation.checker import check_folder
from simia_gym.rollout.jobs import plain_config
from simia_gym.rollout.replay import replay_file

from ..engine.conftest import edit
from ..proof.stage import suite_of
from ..rollout.conftest import Roll


@pytest.mark.parametrize(
    ("grammar", "named", "looks"),
    [(None, "tools", "<tool_call>"), ("tools", "tools", "<tool_call>"), ("act", "act", "Act: ")],
)
@pytest.mark.slow
def test_policies_prompt_record_and_replay_follow_the_grammar(
    files: Path, tmp_path: Path, grammar: str | None, named: str, looks: str
) -> None:
    suite = suite_of(CUSTOM, domain=str(files), split="test", grammar=grammar)
    for policy, reward in (("expert", 1.0), ("null", 0.0), ("claimer", 0.0), ("random", 0.0)):
        roll = Roll(suite, tmp_path / f"{policy}.jsonl")
        roll(suite.load_policy(policy))
        (record,) = roll.records
        assert (policy, record.reward, record.events[0]["grammar"]) == (policy, reward, named)
        assert policy != "expert" or all(looks in action for action in record.actions[:-1])
        assert policy not in ("null", "claimer") or record.turns == 1
        assert all(proof.proven for proof in replay_file(roll.path))
    assert looks in suite.domain.prompts["full"]
    assert plain_config(suite).grammar == (None if named == "tools" else named)


def test_sample_actions_are_said_in_the_chosen_grammar(files: Path) -> None:
    env: Any = gym.make(CUSTOM, domain=str(files), grammar="act").unwrapped
    assert env.action_space.samples == ("Act: bash\n\n```bash\ncat notes.txt\n```",)
    env.reset(seed=1)
    assert "salt" in env.step(env.action_space.sample())[0]
    call = {"function": {"name": "run", "arguments": {"command": "cat notes.txt"}}}
    assert "salt" in env.step({"role": "assistant", "tool_calls": [call]})[0]
    assert load_domain(files).hash != load_domain(files, grammar="act").hash
    with pytest.raises(InputError, match=r"no grammar 'akt'\. Did you mean 'act'"):
        load_domain(files, grammar="akt")


@pytest.mark.slow
def test_the_checker_plays_every_grammar(files: Path) -> None:
    edit("act.py", 'return f"{thought}Act: bash', 'return f"{thought}Act: shell')(files)
    edit("domain.yaml", "generator: expert.py:generate\n", "")(files)  # further tasks would say nothing else
    problems = check_folder(files).problems
    assert problems
    assert all("grammar act" in problem.where and "expert" in problem.what for problem in problems)
