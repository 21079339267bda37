"""Estimates before a run how many model requests, tokens and dollars it will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.common.formatting import compact, dollars
from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.domain.world import WorldSimulator
from simia_gym.episode import Episode
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.policies import PolicyOptions, load_policy, policy_names
from simia_gym.prompts import load_prompt
from simia_gym.record.ledger import Ledger
from simia_gym.rollout.play import play
from simia_gym.rollout.preflight import judged
from simia_gym.simulators.hybrid import choose_routes
from simia_gym.simulators.prefix import prompt_prefix
from simia_gym.types import Message, Task, ToolCall, Transition
from simia_gym.users import make_user

EXPERT = "expert"
_SAMPLED = 8
_BYTES_PER_TOKEN = 4
_REPLY_TOKENS = {"simulator": 150, "user": 40, "judge": 80, "policy": 100}
"""Assumed tokens per reply, by role, if the reply's size is not known."""
_WRAPPING = 300
"""Assumed bytes of markers and keys around one data block."""
_FORM = 90
"""Assumed bytes of a simulator's reply besides its operations and its observation."""


class _Sample(dict[str, NDArray[np.float64]]):
    """The model usage of one sampled episode: by role the number of requests, and the bytes of prompts and replies."""

    def add(self, role: str, size: float, reply: float | None = None, calls: float = 1) -> None:
        reply_size = _REPLY_TOKENS[role] * _BYTES_PER_TOKEN if reply is None else reply
        self[role] = self.get(role, np.zeros(3)) + calls * np.array([1, size, reply_size])


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
    samples = [sample for task in tasks if (sample := _played(suite, task, player)) is not None]
    basis = f"as the policy {player} plays"
    if not samples:
        samples, basis = [_at_most(suite, tasks[0])], "at most, by the turn limit"
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


class _Watching(WorldSimulator):
    """The world simulator; also counts the requests that a model simulator would have made."""

    def __init__(self, suite: Suite, sample: _Sample) -> None:
        domain = suite.domain
        assert domain.world is not None
        super().__init__(domain.world, suite.config.feedback)
        self._suite, self._sample, self._said = suite, sample, 0
        self._asked: set[str] = set()
        hybrid = suite.simulator_name == "hybrid"
        self._routes = choose_routes(domain, suite.config.routes) if hybrid else dict.fromkeys(domain.specs, "llm")

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        transition = await super().call(call, context)
        suite, domain, feedback = self._suite, self._suite.domain, self._suite.config.feedback
        refused = transition.error_code in ("unknown_tool", "invalid_arguments")
        if "simulator" not in suite.model_names or refused or self._routes.get(call.name) != "llm":
            return transition
        answer = len(encode(transition.observation))
        if suite.strategy == "reference":
            self._said += _WRAPPING
            size = prompt_prefix(domain, context, feedback, "reference").prompt.size + self._said
            self._said += answer
            self._sample.add("simulator", size, _FORM + answer)
            return transition
        slice_ = domain.slicer(call.name)(context.state, call)
        key = f"{call.name} {slice_.hash} {encode(call.arguments).decode()}"
        if key in self._asked and suite.config.pins:
            return transition
        self._asked.add(key)
        size = prompt_prefix(domain, context, feedback, "ledger").prompt.size + slice_.size + _WRAPPING
        ops = [dict(op) for op in transition.ops or ()]
        self._sample.add("simulator", size, _FORM + answer + len(encode(ops)))
        return transition


def _played(suite: Suite, task: Task, player: str) -> _Sample | None:
    """Play a task without any model; ``None`` if that is impossible or the episode fails."""
    domain = suite.domain
    if domain.world is None or player not in policy_names(domain.config.policies):
        return None
    sample = _Sample()
    kind = suite.config.user or domain.user
    user = None if domain.user is None else make_user("scripted" if kind in (None, "llm") else kind, domain.cues)
    episode = Episode(
        domain,
        simulator=_Watching(suite, sample),
        user=user,
        reward=domain.make_reward(),
        prompt=suite.config.prompt,
        max_turns=suite.max_turns,
        feedback=suite.config.feedback,
        history=suite.history,
    )
    policy = load_policy(player, domain.config.policies, folder=domain.folder)()
    run_sync(play(episode, task, seed=0, policy=policy, env=suite.config.env), inline=episode.inline)
    if episode.fault is not None or not episode.turn:
        return None
    _add_people(suite, task, sample, episode)
    return sample


def _add_people(suite: Suite, task: Task, sample: _Sample, episode: Episode) -> None:
    """Count the requests that the user's, the judge's and the policy's models would have got in an episode."""
    size = _size_of_prompt(suite, "user") + len(encode(task.user or {})) + _WRAPPING
    record = 0
    for event in episode.ledger.events:
        if event["type"] not in ("transition", "message"):
            continue
        said = event.get("observation") or event.get("text") or ""
        record += len(said) + len(event.get("say") or "") + _WRAPPING // 2
        if event["type"] == "message" or event["speaker"] == "user":
            size += len(event.get("say") or "") + _WRAPPING // 2
            sample.add("user", size, _FORM + len(said))
            size += _FORM + len(said)
    _add_judging(suite, task, sample, record)
    messages = episode.messages
    replies = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    prompts = [messages[:place] for place in replies]
    if episode.history is not None:
        events, system = episode.ledger.events, suite.domain.prompts[suite.config.prompt]
        views = [events[:place] for place, event in enumerate(events) if event["type"] == "action"]
        write = partial(
            episode.history.messages, system=system, instruction=task.instruction, grammar=suite.domain.grammar
        )
        prompts = [write(view) for view in views]
    for place, prompt in zip(replies, prompts, strict=True):
        sample.add("policy", _bytes(prompt), _bytes([messages[place]]))


def _at_most(suite: Suite, task: Task) -> _Sample:
    """An upper bound: the usage of an episode that runs to the turn limit."""
    sample = _Sample()
    domain, turns = suite.domain, suite.max_turns
    prepared = domain.prepare(task)
    feedback = suite.config.feedback
    context = StepContext(prepared, prepared.initial, Ledger(), 0, 0)
    size = prompt_prefix(domain, context, feedback, suite.strategy).prompt.size
    grown = _WRAPPING * turns
    sample.add("simulator", size + (grown if suite.strategy == "reference" else 4 * _WRAPPING), calls=turns)
    asked = _size_of_prompt(suite, "user") + len(encode(task.user or {}))
    sample.add("user", asked + grown / 2, calls=turns + 1)
    sample.add("policy", len(domain.prompts[suite.config.prompt]) + grown / 2, calls=turns)
    _add_judging(suite, task, sample, grown)
    return sample


def _add_judging(suite: Suite, task: Task, sample: _Sample, record: float) -> None:
    size = _size_of_prompt(suite, "judge") + len(suite.domain.policy) + record + 2 * _WRAPPING
    for item in judged(suite, task):
        kind = item.get("kind")
        votes = kind == "forbidden" or item.get("required", kind != "format")
        # A majority of the votes; further ones are requested only if these disagree.
        sample.add("judge", size, calls=suite.config.votes // 2 + 1 if votes else 1)


def _bytes(messages: Sequence[Message]) -> int:
    return sum(len(encode(dict(message))) for message in messages)


def _size_of_prompt(suite: Suite, name: str) -> int:
    return len(load_prompt(name, suite.domain.folder).text)
