"""``--dry-run``: verl's configuration and estimates of tokens and model calls. Starts and sends nothing."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simia_gym.common.formatting import compact, counted
from simia_gym.common.output import Output
from simia_gym.common.writing import write_whole
from simia_gym.errors import InputError
from simia_gym.evaluation.estimate import estimate
from simia_gym.rl.grpo.config.options import GrpoOptions, RunPlan
from simia_gym.rl.grpo.config.verl_config import as_yaml, check_supported, compose, overrides, validate
from simia_gym.rl.grpo.dataset import Weighted
from simia_gym.rl.grpo.expert_lengths import chosen_length, measure_responses, with_room
from simia_gym.rl.grpo.prepare import (
    load_tokenizer,
    load_worlds,
    make_policy,
    names_of,
    read_config,
    training_rows,
    write_rows,
)
from simia_gym.rl.grpo.run.environment import variables
from simia_gym.rl.grpo.run.run_folder import RunFolder


def show_plan(output: Output, asked: GrpoOptions, plan: RunPlan, folder: RunFolder) -> int:
    """Compose, validate and print verl's configuration; print the expected tokens and model calls.

    Raises:
        InputError: An option is wrong, or verl refuses the configuration.
    """
    worlds, _ = load_worlds(asked, plan)
    with tempfile.TemporaryDirectory(prefix="simia-") as scratch:
        policy = make_policy(output, plan, Path(scratch) / "start-policy")
        prompts = measure_prompts(worlds, policy, plan)
        responses = {} if prompts is None else measure_responses(worlds, policy, offline=True)
        if chosen_length(asked, plan, folder) is None:
            plan = with_room(plan, responses, policy, offline=True)
        model = read_config(policy, offline=True)
    if plan.policy is None:
        policy = str(folder.start_policy)
    environment = variables(plan.profile, folder, policy, folder.attempts / "1.jsonl")
    rows = training_rows(plan)
    words = overrides(plan, run=folder.path, policy=policy, rows=rows, environment=environment, model=model)
    config = compose(words)
    check_supported(config)
    with _quiet():
        validate(config)
    text = as_yaml(config)
    if asked.launch.out is not None:
        folder.path.mkdir(parents=True, exist_ok=True)
        write_whole(folder.path / "verl.yaml", text)
    elif not output.json:
        output.say(text)
    facts: dict[str, Any] = {"profile": plan.profile.name, "engine": plan.engine_name, "policy": policy}
    output.say(f"{plan.name}: {plan.profile.about}; rollout engine {plan.engine_name}; policy {policy}")
    where = f", in {folder.path / 'verl.yaml'}" if asked.launch.out else ""
    output.say(f"verl's configuration: composed and valid{where}")
    for line in (*_tokens(plan, prompts, facts), *_responses(plan, responses, facts), *_calls(plan, worlds, facts)):
        output.say(line)
    output.result({**facts, "configuration": text})
    return 0


def measure_prompts(worlds: Weighted, policy: str, plan: RunPlan) -> dict[str, int] | None:
    """Length in tokens of the longest of up to 64 prompts, by environment; ``None`` if the tokenizer is not here.

    Raises:
        InputError: A prompt is longer than the run allows.
    """
    try:
        tokenizer = load_tokenizer(policy, offline=True)
    except InputError:
        if Path(policy).is_dir():
            raise
        return None
    found = {}
    with tempfile.TemporaryDirectory(prefix="simia-") as scratch:
        for env, world in zip(names_of(worlds), worlds, strict=True):
            rows = min(len(world[0].tasks), 64)
            facts = write_rows(Path(scratch) / "prompts.parquet", [world], tokenizer, plan, "train", rows)
            found[env] = facts.longest
    return found


def _responses(plan: RunPlan, responses: dict[str, list[int]], facts: dict[str, Any]) -> Iterator[str]:
    """How many of the expert's episodes fit into the longest response."""
    facts["expert_episodes"] = {}
    for env, lengths in responses.items():
        fit = sum(length <= plan.max_response_length for length in lengths)
        facts["expert_episodes"][env] = {"episodes": len(lengths), "longest": lengths[-1], "fit": fit}
        line = (
            f"the expert's episodes, {env}: {lengths[0]:,} to {lengths[-1]:,} tokens behind the prompt; {fit} of "
            f"{len(lengths)} fit into {plan.max_response_length:,}"
        )
        yield line if fit == len(lengths) else f"{line}: give --max-response-length {lengths[-1]} or more"


def _tokens(plan: RunPlan, prompts: dict[str, int] | None, facts: dict[str, Any]) -> Iterator[str]:
    episodes = plan.groups * plan.group_size
    most = episodes * (plan.max_prompt_length + plan.max_response_length)
    spoken = episodes * plan.max_response_length
    yield (
        f"a step: {plan.groups} tasks x {plan.group_size} = {counted(episodes, 'episode')}; at most {compact(most)} "
        f"tokens to compute on, {compact(spoken)} of them responses"
    )
    run = f"the run: {counted(plan.steps, 'step')}, {counted(plan.episodes, 'episode')}"
    yield run + (f", and {plan.validation_episodes:,} of validation" if plan.validation_every else "")
    if plan.dynamic_sampling:
        yield "dynamic sampling plays further episodes, and makes further calls, to replace groups with equal rewards"
    if prompts is None:
        yield "prompts: not measured (the policy's tokenizer is not on this machine); the launch refuses too long ones"
    else:
        lengths = ", ".join(f"{env} {length:,}" for env, length in prompts.items())
        yield f"prompts: {plan.prompt}, longest seen {lengths} of {plan.max_prompt_length:,} tokens"
    facts |= {
        "max_response_length": plan.max_response_length,
        "episodes_per_step": episodes,
        "episodes": plan.episodes,
        "tokens_per_step": most,
        "prompts": prompts,
    }
    facts |= {"validation_episodes": plan.validation_episodes, "dynamic_sampling": plan.dynamic_sampling}


def _calls(plan: RunPlan, worlds: Weighted, facts: dict[str, Any]) -> Iterator[str]:
    """Expected model calls of each environment, with the same estimate as for rollouts."""
    total = sum(weight for _, weight in worlds)
    facts["calls"] = {}
    for env, (suite, weight) in zip(names_of(worlds), worlds, strict=True):
        episodes = round((plan.episodes + plan.validation_episodes) * weight / total)
        expected = estimate(suite, episodes, group=plan.group_size)
        if expected is None:
            what = "none" if not suite.model_names else "unknown"
            yield f"model calls, {env}: {what}"
            continue
        facts["calls"][env] = {"calls": dict(expected.calls), "cost_usd": expected.cost}
        yield f"{env}, {counted(episodes, 'episode')}: {expected}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Import verl without GPU detection, log lines and warnings."""
    logging.disable(logging.WARNING)
    before = dict(os.environ)
    os.environ.update(VERL_PLATFORM="cpu", VERL_LOGGING_LEVEL="ERROR")
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(None),
            contextlib.redirect_stderr(None),
        ):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        logging.disable(logging.NOTSET)
