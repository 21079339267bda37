"""What a run with models will take, before it begins: requests, tokens and dollars, said to be an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simia_gym.cli.spending import compact
from simia_gym.encoding import encode
from simia_gym.episode import Episode
from simia_gym.errors import SimiaError
from simia_gym.loop import run_inline
from simia_gym.policies import load_policy
from simia_gym.rollout.play import play
from simia_gym.scene import Scene
from simia_gym.simulators.prefix import ledger_prefix, reference_prefix
from simia_gym.simulators.world import WorldSimulator
from simia_gym.suite import Suite
from simia_gym.types import Task, ToolCall, Transition
from simia_gym.users import make_user

_SAMPLED = 3
_BYTES_PER_TOKEN = 4
_REPLY_TOKENS = {"simulator": 150, "user": 60, "judge": 120}
_WRAPPING = 400


@dataclass
class _Sample:
    """What one episode would ask.

    Attributes:
        calls: Requests by role.
        prompt: Bytes of their prompts by role.
    """

    calls: dict[str, float] = field(default_factory=dict)
    prompt: dict[str, float] = field(default_factory=dict)

    def add(self, role: str, size: float, calls: float = 1) -> None:
        self.calls[role] = self.calls.get(role, 0) + calls
        self.prompt[role] = self.prompt.get(role, 0) + size * calls


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take.

    Attributes:
        episodes: How many episodes run.
        calls: Requests by role.
        prompt_tokens: Tokens of their prompts by role.
        reply_tokens: Tokens of the replies by role, thinking not counted.
        cost: USD, where prices are known.
        basis: What the numbers rest on.
    """

    episodes: int
    calls: Mapping[str, int]
    prompt_tokens: Mapping[str, int]
    reply_tokens: Mapping[str, int]
    cost: float | None
    basis: str

    def __str__(self) -> str:
        """One line."""
        parts = [f"{role} {compact(count)} calls" for role, count in self.calls.items()]
        tokens = f"{compact(sum(self.prompt_tokens.values()))} tokens in, {compact(sum(self.reply_tokens.values()))} out"
        cost = "" if self.cost is None else f", ${self.cost:,.2f}"
        return f"expected to take about: {', '.join(parts)}; {tokens}{cost} ({self.basis}; thinking not counted)"


def estimate(suite: Suite, episodes: int) -> Estimate | None:
    """Estimate what so many episodes take; the models of the environment only, not the policy's.

    Args:
        suite: The environment.
        episodes: How many episodes.

    Returns:
        The estimate; ``None`` where no model takes part.
    """
    if not suite.model_names or not episodes:
        return None
    tasks = [suite.tasks[number] for number in range(min(_SAMPLED, len(suite.tasks)))]
    samples = [sample for task in tasks if (sample := _played(suite, task)) is not None]
    basis = f"from {len(samples)} tasks played by the expert in the world"
    if not samples:
        samples, basis = [_at_most(suite, tasks[0])], "at most, from the turn limit"
    share = episodes / len(samples)
    roles = [role for role in suite.model_names if role != "escalation"]
    calls = {role: round(share * sum(sample.calls.get(role, 0) for sample in samples)) for role in roles}
    sizes = {role: share * sum(sample.prompt.get(role, 0) for sample in samples) for role in roles}
    prompt = {role: round(size / _BYTES_PER_TOKEN) for role, size in sizes.items()}
    reply = {role: calls[role] * _REPLY_TOKENS[role] for role in roles}
    settings = {role: suite.models.settings(role) for role in roles}
    priced = all(one.price_in is not None and one.price_out is not None for one in settings.values())
    cost = sum(settings[role].price(prompt[role], 0, reply[role]) for role in roles) if priced else None
    return Estimate(episodes, calls, prompt, reply, cost, basis)


class _Watching(WorldSimulator):
    """The world, counting what a model would have been asked in its place."""

    def __init__(self, suite: Suite, sample: _Sample) -> None:
        assert suite.domain.world is not None
        super().__init__(suite.domain.world)
        self._suite, self._sample, self._said = suite, sample, 0

    async def call(self, call: ToolCall, scene: Scene) -> Transition:
        transition = await super().call(call, scene)
        suite = self._suite
        if suite.simulator_name == "hybrid" and suite.config.routes.get(call.name) != "llm":
            return transition
        if transition.error_code in ("unknown_tool", "invalid_arguments"):
            return transition
        domain, feedback = suite.domain, suite.config.feedback
        if suite.config.strategy == "reference":
            self._said += len(transition.observation) + _WRAPPING
            size = reference_prefix(domain, scene, feedback).prompt.size + self._said
        else:
            slice_ = domain.slicer(call.name)(scene.state, call)
            size = ledger_prefix(domain, scene, feedback).prompt.size + slice_.size + _WRAPPING
        self._sample.add("simulator", size)
        return transition


def _played(suite: Suite, task: Task) -> _Sample | None:
    """Play a task where that costs nothing; ``None`` where it does not work."""
    domain = suite.domain
    if domain.world is None or "expert" not in domain.config.policies:
        return None
    sample = _Sample()
    try:
        user = None if domain.user in (None, "llm") else make_user(domain.user or "", domain.cues)
        episode = Episode(domain, simulator=_Watching(suite, sample), user=user, reward=domain.make_reward())
        policy = load_policy("expert", domain.config.policies, folder=domain.folder)()
        run_inline(play(episode, task, seed=0, policy=policy, env=suite.config.env))
    except (SimiaError, RuntimeError):
        return None
    if episode.fault is not None or not (sample.calls or episode.turn):
        return None
    size = len(encode(task.user or {})) + _WRAPPING
    record = 0
    for event in episode.ledger.events:
        if event["type"] == "transition":
            record += len(event["observation"]) + len(event["say"] or "") + _WRAPPING // 4
            if event["speaker"] == "user":
                size += len(event["observation"]) + len(event["say"] or "")
                sample.add("user", size)
    sample.add("user", size)
    _add_judging(suite, task, sample, record)
    return sample


def _at_most(suite: Suite, task: Task) -> _Sample:
    """An episode that uses all its turns."""
    sample = _Sample()
    domain, turns = suite.domain, suite.max_turns
    size = len(domain.prompts["full"]) + len(encode(domain.tools)) + 4 * _WRAPPING
    sample.add("simulator", size, turns)
    sample.add("user", len(encode(task.user or {})) + _WRAPPING * turns, turns)
    _add_judging(suite, task, sample, _WRAPPING * turns)
    return sample


def _add_judging(suite: Suite, task: Task, sample: _Sample, record: int) -> None:
    criteria = [*suite.domain.rubric, *task.criteria]
    asked = criteria if suite.config.judge == "llm-all" else [item for item in criteria if _is_llm(item)]
    sample.add("judge", len(suite.domain.policy) + record + _WRAPPING, len(asked))


def _is_llm(item: Mapping[str, object]) -> bool:
    check = item.get("check")
    return isinstance(check, Mapping) and "llm" in check
