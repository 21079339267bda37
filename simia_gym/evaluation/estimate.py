"""Estimates before a run how many model requests, tokens and dollars it will take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.common.formatting import compact, dollars
from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.episode import Episode
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.oracle.answering import Oracle
from simia_gym.oracle.model import OracleModel
from simia_gym.oracle.options import OracleOptions
from simia_gym.policies import Policy, PolicyOptions, policy_names
from simia_gym.prompts import load_prompt
from simia_gym.record.ledger import Ledger
from simia_gym.rollout.play import play
from simia_gym.rollout.preflight import judged, policy_reads
from simia_gym.simulators.prefix import prompt_prefix
from simia_gym.types import Message, Task

EXPERT = "expert"
_SAMPLED = 8
_BYTES_PER_TOKEN = 4
_REPLY_TOKENS = {"simulator": 150, "user": 40, "judge": 80, "policy": 100}
"""Assumed tokens per reply, by role, where no sample can be played."""
_WRAPPING = 300
"""Assumed bytes of markers and keys around one data block, where no sample can be played."""

Used = NDArray[np.float64]
"""The usage of one role in a sampled episode: the number of requests, the bytes of their prompts and of the replies."""


@dataclass(frozen=True)
class Estimate:
    """The estimated model usage of a run.

    Attributes:
        calls: Number of requests by role.
        prompt_tokens: Tokens of the prompts by role.
        reply_tokens: Tokens of the replies by role, without reasoning tokens.
        cost: Cost in USD, without discounts for cached tokens; ``None`` if a role has no price.
        basis: How the numbers were found, for example ``as expert plays``.
        unpriced: Roles without a price whose endpoint is on another machine.
    """

    calls: Mapping[str, int]
    prompt_tokens: Mapping[str, int]
    reply_tokens: Mapping[str, int]
    cost: float | None
    basis: str
    unpriced: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The estimate in one line."""
        parts = [f"{role} {compact(count)}" for role, count in self.calls.items() if count]
        if not parts:
            return f"expected calls of models: none ({self.basis})"
        tokens = (
            f"{compact(sum(self.prompt_tokens.values()))} tokens in, {compact(sum(self.reply_tokens.values()))} out"
        )
        cost = "" if self.cost is None else f", {dollars(self.cost)}"
        hint = ""
        if self.unpriced:
            first, *others = self.unpriced
            more = f", and those of {' and '.join(others)}" if others else ""
            hint = f"; cost unknown: give --role {first}.price_in=... and {first}.price_out=...{more}"
        return f"expected calls: {', '.join(parts)}; {tokens}{cost} ({self.basis}; without thinking){hint}"


def estimate(
    suite: Suite, episodes: int, *, group: int = 1, player: str = EXPERT, policy: PolicyOptions | None = None
) -> Estimate | None:
    """Estimate the model usage of a run by playing a few sample episodes in the world. Calls no model, raises nothing.

    Args:
        suite: The environment.
        episodes: Number of episodes.
        group: Episodes per group; episodes of a group share the simulator's pinned answers.
        player: The policy's name. The expert plays the samples instead of a model, or of a policy from elsewhere than
            this package and the domain.
        policy: Settings of the policy's model; ``None`` if the policy is code.

    Returns:
        The estimate; ``None`` if the run uses no model, or if the samples cannot be played.
    """
    if episodes < 1 or not (suite.model_names or policy is not None):
        return None
    try:
        free = player != "llm" and player in policy_names(suite.domain.config.policies)
        return _estimate(suite, episodes, group, player if free else EXPERT, policy)
    except (Exception, SystemExit):  # a bug in the domain's code: the run will report it
        return None


def _estimate(suite: Suite, episodes: int, group: int, player: str, policy: PolicyOptions | None) -> Estimate:
    roles = [role for role in suite.model_names if role != "escalation"]
    settings: dict[str, ModelSettings] = {role: suite.models.settings(role) for role in roles}
    endpoints = {role: endpoint for role, (_, endpoint) in suite.models.places(roles).items()}
    if policy is not None:
        settings["policy"], endpoints["policy"] = policy, policy.endpoint()
    several = max(1, min(len(suite.tasks), episodes // group))
    count = min(_SAMPLED, several)
    tasks = [suite.tasks[number * several // count] for number in range(count)]
    native = policy is not None and policy.native_tools
    samples = _played(suite, tasks, player, native)
    basis = f"as the policy {player} plays"
    if not samples:
        samples, basis = [_at_most(suite, tasks[0], native)], "at most, by the turn limit"
    shared = suite.config.pins and suite.strategy == "ledger" and group > 1 and "simulator" in settings
    if shared:
        basis += f"; groups of {group} share the simulator's answers"
    calls, prompt, reply = {}, {}, {}
    for role in settings:
        share = episodes / len(samples) / (group if shared and role == "simulator" else 1)
        used = share * sum((sample[role] for sample in samples if role in sample), np.zeros(3))
        calls[role] = round(used[0])
        prompt[role], reply[role] = (round(size / _BYTES_PER_TOKEN) for size in used[1:])
    without = [role for role, one in settings.items() if one.price_in is None or one.price_out is None]
    cost = None if without else sum(one.price(prompt[role], 0, reply[role]) for role, one in settings.items())
    elsewhere = [role for role, endpoint in endpoints.items() if not _is_here(endpoint)]
    unpriced = tuple(role for role in without if calls[role] and role in elsewhere)
    return Estimate(calls, prompt, reply, cost, basis, unpriced)


def _is_here(endpoint: Endpoint) -> bool:
    """Whether an endpoint is on this machine, where tokens cost nothing."""
    host = urlsplit(endpoint.url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


class _Answering(OracleModel):
    """Answers the requests of one role, and counts them."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.used: Used = np.zeros(3)

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await super().complete(request)
        self.used += (1, request.prompt.size, len(reply.raw))
        return reply


class _Watched:
    """A policy; also counts what a model in its place would be shown."""

    whole_transcript = True

    def __init__(self, policy: Policy, episode: Episode, tools: str) -> None:
        self._policy, self._episode = policy, episode
        self.native_tools, self._beside = bool(tools), len(tools)
        self.start = getattr(policy, "start", lambda start: None)
        self.used: Used = np.zeros(3)

    def act(self, messages: Sequence[Message]) -> Any:
        shown = self._episode.shown
        self.used += (1, _bytes(shown) + self._beside, 0)
        return self._policy.act(messages if getattr(self._policy, "whole_transcript", False) else shown)


def _played(suite: Suite, tasks: Iterable[Task], player: str, native_tools: bool) -> list[dict[str, Used]]:
    """Play tasks, with the oracle in the place of the models; without the episodes that fail."""
    domain, config = suite.domain, suite.config
    if domain.world is None or player not in policy_names(domain.config.policies):
        return []
    oracle = Oracle(OracleOptions(domains=(domain.folder,), data=config.data))
    models = {role: _Answering(oracle) for role in suite.model_names}
    name = suite.simulator_name if "simulator" in models else "world"
    config = replace(config, simulator=name, shadow=False, shadow_faults=False, replay_from=None)
    stage = load_suite(config, Resources(models=models))
    samples = []
    for task in tasks:
        for model in models.values():
            model.used = np.zeros(3)
        episode = stage.episode()
        policy = _Watched(stage.load_policy(player)(), episode, policy_reads(suite, native_tools=native_tools)[1])
        run_sync(play(episode, task, seed=0, policy=policy, env=config.env), inline=episode.inline)
        if episode.fault is None and episode.turn:
            policy.used[2] = _bytes(message for message in episode.messages if message["role"] == "assistant")
            samples.append({**{role: model.used for role, model in models.items()}, "policy": policy.used})
    return samples


def _at_most(suite: Suite, task: Task, native_tools: bool) -> dict[str, Used]:
    """An upper bound: the usage of an episode that runs to the turn limit."""
    domain, turns = suite.domain, suite.max_turns
    prepared = domain.prepare(task)
    context = StepContext(prepared, prepared.initial, Ledger(), 0, 0)
    grown = _WRAPPING * turns
    simulated = prompt_prefix(domain, context, suite.config.feedback, suite.strategy).prompt.size
    simulated += grown if suite.strategy == "reference" else 4 * _WRAPPING
    written = {name: len(load_prompt(name, domain.folder).text) for name in ("user", "judge")}
    asked = written["user"] + len(encode(task.user or {})) + grown / 2
    judging = written["judge"] + len(domain.policy) + grown + 2 * _WRAPPING
    votes = 0
    for item in judged(suite, task):
        kind = item.get("kind")
        # A majority of the votes; further ones are requested only if these disagree.
        several = kind in ("forbidden", "conduct") or item.get("required", kind != "format")
        votes += suite.config.votes // 2 + 1 if several else 1
    sizes = {
        "simulator": (turns, simulated),
        "user": (turns + 1, asked),
        "judge": (votes, judging),
        "policy": (turns, sum(map(len, policy_reads(suite, native_tools=native_tools))) + grown / 2),
    }
    replies = {role: tokens * _BYTES_PER_TOKEN for role, tokens in _REPLY_TOKENS.items()}
    return {role: calls * np.array([1, size, replies[role]]) for role, (calls, size) in sizes.items()}


def _bytes(messages: Iterable[Message]) -> int:
    return sum(len(encode(dict(message))) for message in messages)
