"""Our episodes in verl's own worker: tokens, masks, rewards, faults, groups."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from .libraries import need

need("torch", "ray", "pyarrow", "verl")
need("verl.experimental.agent_loop.agent_loop")

from simia_gym import transcript
from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.llm.accounts import accounts
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.policies.base import Thinking
from simia_gym.rl.chat.trajectories import as_written
from simia_gym.rl.grpo.run.episodes import training_job
from simia_gym.rl.sft.encode import IGNORED, encode
from simia_gym.rollout.jobs import world_group

from .agent_worker import RETAIL, WEBSHOP, play_rows, suite_of, tokenizer
from .grpo_options import read_episodes
from .tiny import FORGETFUL, OFF


@pytest.fixture(autouse=True)
def _own_loop() -> Iterator[None]:
    """verl takes the current event loop; this one is closed again."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    asyncio.set_event_loop(None)


def simulated(base_url: str, env: str = RETAIL, simulator: str = "llm", **settings: object) -> Suite:
    """An environment whose tools are played by a model."""
    roles = {"simulator": {"model": "oracle", "retries": 0}}
    config = EnvConfig(env=env, prompt="compact", simulator=simulator, render="model", roles=roles, **settings)  # type: ignore[arg-type]
    return load_suite(config, Resources(base_url=base_url))


def test_the_expert_succeeds_in_two_environments_and_every_token_of_it_is_known(tmp_path: Path) -> None:
    played = play_rows(tmp_path, [suite_of(RETAIL), suite_of(WEBSHOP)], rows=4, settings={"records": True})
    words, turns = tokenizer(), played.batch.non_tensor_batch["__num_turns__"]
    lines = {(line.env, line.task): line for line in read_episodes(played.run)}
    records = {(record.config["env"], record.task): record for record in played.records}
    assert [row.env for row in played.rows] == [RETAIL, WEBSHOP] * 2
    for number, row in enumerate(played.rows):
        where = (row.env, row.task.id)
        said = [ids for ids in played.engine.said.values() if [*chain(*ids)] == played.own(number)]
        assert len(said) == 1, "the policy's tokens are not those that were sampled"
        texts = words.decode(played.own(number)).split("<|im_end|>")
        assert texts == [*records[where].actions, ""]
        assert played.reward(number) == 1.0
        # Whose words are whose: the rest is the environment's, with the marks of the turns.
        rest = [item for item, own in zip(played.response(number), played.mask(number), strict=True) if not own]
        heard = [event for event in records[where].events if event["type"] == "transition"]
        assert len(heard) >= 3
        assert all(event["observation"] in words.decode(rest) for event in heard[:-1])
        # What verl would be given by the template alone is the very same.
        assert played.mask(number)[-1] == 1
        logprobs = played.batch.batch["rollout_log_probs"][number, : len(played.mask(number))]
        assert [round(float(item), 4) for item, own in zip(logprobs, played.mask(number), strict=True) if own] == [
            round(-0.25 - place / 64, 4) for ids in said[0] for place in range(len(ids))
        ]
        assert not any(float(item) for item, own in zip(logprobs, played.mask(number), strict=True) if not own)
        line = lines[where]
        assert (line.valid, line.success, line.reward, line.step, line.uid) == (True, True, 1.0, 5, f"uid-{number}")
        assert (line.tokens, line.length) == (len(played.own(number)), len(played.response(number)))
        assert line.prompt_tokens == len(played.prompt(number))
        assert turns[number] > 2
    assert played.batch.non_tensor_batch["min_global_steps"].tolist() == [4] * 4
    assert {params["temperature"] for params in played.engine.asked} == {1.0}
    assert all(words.eos_token_id in params["stop_token_ids"] for params in played.engine.asked)
    seeds = [params["seed"] for params in played.engine.asked]
    assert len(set(seeds)) == len(seeds)  # chance of its own for each turn


@pytest.mark.parametrize(("thinking", "opening"), [("keep", ""), ("never", OFF)])
@pytest.mark.parametrize("expert", ["expert", "thinker"])
def test_sampled_tokens_stay_in_the_context_where_the_template_would_drop_thinking(
    expert: str, thinking: Thinking, opening: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {
        "settings": {"records": True},
        "thinking": thinking,
        "template": FORGETFUL,
        "expert": expert,
    }
    played = play_rows(tmp_path, [suite_of(RETAIL)], rows=2, **given)
    words = tokenizer(FORGETFUL)
    for number in range(2):
        prompts = [ids for ids in played.engine.read if ids[: len(played.prompt(number))] == played.prompt(number)]
        whole = [*played.prompt(number), *played.response(number)]
        assert len(prompts) > 3
        for earlier, later in pairwise([*prompts, whole]):
            assert later[: len(earlier)] == earlier
        assert all(words.decode(ids).endswith(f"<|im_start|>assistant\n{opening}") for ids in prompts)
        assert [[*chain(*said)] for said in played.engine.said.values()].count(played.own(number)) == 1
        assert ("</think>" in words.decode(played.own(number))) is (expert == "thinker")
        record = next(one for one in played.records if one.task == played.rows[number].task.id)
        row = encode(words, as_written(transcript(record), record.events), thinking)
        assert row.input_ids == whole
        assert [int(label != IGNORED) for label in row.labels] == [0] * len(played.prompt(number)) + played.mask(number)


@pytest.mark.parametrize(("deterministic", "seeded"), [("false", False), ("true", True)])
def test_vllm_gets_seeds_only_where_determinism_is_asked_for(tmp_path: Path, deterministic: str, seeded: bool) -> None:
    key = "actor_rollout_ref.rollout"
    words = (f"{key}.name=vllm", f"{key}.full_determinism={deterministic}")
    played = play_rows(tmp_path, [suite_of(WEBSHOP)], rows=1, overrides=words)
    assert played.engine.asked
    assert all(("seed" in params) is seeded for params in played.engine.asked)


def test_a_fault_is_masked_and_never_a_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_in_thread(OracleOptions(fault_rate=1.0, faults=("server_error",))) as broken:
        monkeypatch.setenv("SIMIA_SIMULATOR_BASE_URL", broken.base_url)
        suites = [simulated(broken.base_url), suite_of(WEBSHOP)]
        played = play_rows(tmp_path, suites, rows=4, settings={"records": True})
    lines = {line.uid: line for line in read_episodes(played.run)}
    for number, row in enumerate(played.rows):
        line = lines[f"uid-{number}"]
        if row.env == WEBSHOP:
            assert (played.reward(number), line.reward, line.fault) == (1.0, 1.0, None)
            continue
        assert math.isnan(played.reward(number))
        assert played.mask(number) == [0]
        assert played.prompt(number)
        assert (line.valid, line.reward, line.success) == (False, None, False)
        assert line.fault is not None
        assert line.fault["role"] == "simulator"
        assert line.turns >= 1
        assert line.tokens > 0
    assert played.batch.non_tensor_batch["valid"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert played.batch.non_tensor_batch["success"].tolist() == [None, 1.0, None, 1.0]


@pytest.mark.parametrize(
    "world", [{}, {"simulator": "hybrid", "routes": {"find_user_id_by_name_zip": "llm", "get_user_details": "llm"}}]
)
def test_a_group_shares_its_world_and_its_answers(
    tmp_path: Path, oracle: OracleServer, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMIA_SIMULATOR_BASE_URL", oracle.base_url)

    def calls(run: Path) -> int:
        return sum(int(line.models["simulator"]["calls"]) for line in read_episodes(run) if line.models)

    accounts().drain()
    settings = {"records": True}
    suite = simulated(oracle.base_url, **world)
    alone = play_rows(tmp_path / "alone", [suite], rows=1, settings=settings)
    asked = calls(alone.run)
    assert asked >= 2
    group = play_rows(tmp_path / "group", [suite], rows=1, group=4, settings=settings)
    assert calls(group.run) == asked, "the members of a group asked for the same answers again"
    assert [group.reward(number) for number in range(4)] == [1.0] * 4
    assert {tuple(group.response(number)) for number in range(4)} == {tuple(alone.response(0))}
    records = group.records
    assert len({record.key for record in records}) == 4
    assert len({(record.seed, record.group, record.task) for record in records}) == 1
    assert len({line.group for line in read_episodes(group.run)}) == 1


def test_steps_and_rows_have_worlds_of_their_own_and_the_same_run_has_the_same() -> None:
    suite = suite_of(RETAIL)
    task = suite.tasks[0]

    def seed(step: int = 1, index: int = 0, sample: int = 0, purpose: str = "train", of: int = 0) -> tuple[int, str]:
        given = {"step": step, "index": index, "sample": sample, "seed": of}
        plan, job = training_job(suite, task, purpose=purpose, **given)  # type: ignore[arg-type]
        return job.seed, world_group(plan.seed, job.group)

    assert seed() == seed(sample=3)
    assert len({seed(), seed(step=2), seed(index=1), seed(purpose="val"), seed(of=1)}) == 5
    assert seed(purpose="val") == seed(purpose="val", step=9)


def test_used_up_tokens_cut_an_episode_and_it_is_judged(tmp_path: Path) -> None:
    whole = play_rows(tmp_path / "whole", [suite_of(RETAIL)], rows=2, settings={"records": True})
    length = min(len(whole.response(number)) for number in range(2))
    for budget in (length - 3, length // 2):
        folder = tmp_path / str(budget)
        played = play_rows(folder, [suite_of(RETAIL)], rows=2, max_response_length=budget, settings={"records": True})
        for number, line in enumerate(sorted(read_episodes(played.run), key=lambda line: line.uid)):
            assert (line.ended, line.valid, line.fault) == ("token_limit", True, None)
            assert line.health == {"token_limit": 1}
            assert played.reward(number) == line.reward
            assert line.reward == 0.0 or budget > length // 2  # only the farewell may be missing
            assert 0 < line.length <= budget
            assert played.response(number) == whole.response(number)[: line.length]
            assert played.mask(number)[-1] == 1
        assert len(played.records) == 2


def test_a_prompt_that_is_too_long_after_all_is_a_fault_and_never_cut(tmp_path: Path) -> None:
    played = play_rows(tmp_path, [suite_of(RETAIL)], rows=1, max_prompt_length=64, lengthen=4096)
    (line,) = read_episodes(played.run)
    assert line.fault is not None
    assert line.fault["kind"] == "prompt_too_long"
    assert math.isnan(played.reward(0))
    assert played.mask(0) == [0]
    assert not played.engine.asked


def test_an_environment_that_cannot_be_loaded_is_a_fault_of_its_own_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suites = [simulated("http://127.0.0.1:9"), suite_of(WEBSHOP)]
    monkeypatch.setenv("SIMIA_SIMULATOR_BASE_URL", "no address")
    played = play_rows(tmp_path, suites, rows=2)
    for line in read_episodes(played.run):
        assert (line.fault and line.fault["kind"]) == ("bad_environment" if line.env == RETAIL else None)
    assert [math.isnan(played.reward(number)) for number in range(2)] == [True, False]
