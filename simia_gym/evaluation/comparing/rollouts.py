"""Recorded rollouts of the real benchmark as a reference that is forced on models.

They become a record like every other: the recorded actions are played with the recorded words of the user, each call
has the recorded answer and what the domain's world changes by it, and the reward is the recorded one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.contracts import Simulator, StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.recorded import RecordedCall, RecordedRollout
from simia_gym.episode import Episode
from simia_gym.errors import ActionError, Cut, Fault, InputError
from simia_gym.policies import PolicyStart
from simia_gym.record.finished_episode import TOKEN_LIMIT, FinishedEpisode, Reward
from simia_gym.rollout.jobs import episode_seed
from simia_gym.types import Message, PolicyAction, Say, Task, ToolCall, Transition, Verdict

RECORDED = "recorded"
"""Name of the side, and of its policy."""
_TOLD = "Message: "


class Rollouts:
    """The recorded rollouts of a file, each as a task and as what was done in it.

    Args:
        domain: The domain, with the benchmark's data.
        path: The file.
        data: Where the domain's data came from.
        seed: Seed of the runs in which they are played.

    Attributes:
        tasks: A task for each rollout.
        content_hash: Hash of what was said in them.
        turns: The most actions of the agent in one of them.

    Raises:
        InputError: The domain has no such rollouts, the file cannot be read, or models cannot play its tools.
    """

    def __init__(self, domain: Domain, path: Path, *, data: Path | None = None, seed: int = 0) -> None:
        self.tasks: list[Task] = []
        self._by_seed: dict[int, RecordedRollout] = {}
        self._grammar = domain.grammar
        times = Counter[str]()
        self.turns = 1
        for one in recorded_rollouts(domain, path, data=data):
            if one.task is None or not one.messages:
                what = f"the recorded rollouts of {domain.name} can only be run again in its world"
                raise InputError(what, where="--right", fix="Give --right world.")
            number, times[one.id] = times[one.id], times[one.id] + 1
            task = replace(one.task, id=f"{one.id}#{number}") if number else one.task
            self.tasks.append(task)
            self._by_seed[episode_seed(seed, task.id, 0)] = one
            self.turns = max(self.turns, one.turns)
        if not self.tasks:
            raise InputError("holds no recorded episode", where=str(path), fix="Give another file.")
        self.content_hash = hash_of(encode([[one.id, one.messages] for one in self._by_seed.values()]))[:16]

    def __call__(self) -> _Agent:
        """Make the policy that does what was done."""
        return _Agent(self)

    def actions(self, seed: int) -> Iterator[PolicyAction]:
        """What the agent did in the rollout that is played with this seed.

        A text that the domain's grammar would not read as words for the user is made one: with a word before it, and
        without tags.
        """
        for message in self.rollout(seed).messages:
            if message["role"] == "assistant" and "tool_calls" in message:
                yield message
            elif message["role"] == "assistant":
                text = message["content"]
                words = (text, f"{_TOLD}{text}", f"{_TOLD}{escape(text, quote=False)}")
                yield {**message, "content": next(filter(self._is_told, words), text)}

    def _is_told(self, text: str) -> bool:
        try:
            return isinstance(self._grammar.parse(text), Say)
        except ActionError:
            return False

    def rollout(self, seed: int) -> RecordedRollout:
        """The rollout that is played with this seed.

        Raises:
            Fault: There is none.
        """
        if seed not in self._by_seed:
            raise Fault("no_reference", "the recorded rollouts do not have this episode", role="episode")
        return self._by_seed[seed]

    def prepare(self, episode: Episode) -> None:
        """Let an episode that was not begun yet take the recorded answers, the user's recorded words and the reward."""
        episode.simulator, episode.reward = _Tools(episode.simulator, self), _Given(self)
        if episode.user is not None:
            episode.user = _User(self, episode.user.name)

    def judge(self, episode: Episode) -> None:
        """Give no reward to an episode whose right actions are not known."""
        episode.reward = _IfKnown(self, episode.reward)


def recorded_rollouts(domain: Domain, path: Path, *, data: Path | None = None) -> Iterator[RecordedRollout]:
    """The recorded rollouts of a file, run again in the domain's world.

    Raises:
        InputError: The domain has none, or the file cannot be read.
    """
    play = domain.hook("recorded")
    if play is None:
        what = f"there are no recorded rollouts of {domain.name} to compare with: its domain.yaml has no recorded"
        raise InputError(what, where="--rollouts", fix="Compare with a record of your own.")
    with foreign_code(domain.folder):
        yield from play(domain, data=data, rollouts=path)


class _Agent:
    """Says and calls what was recorded."""

    def __init__(self, rollouts: Rollouts) -> None:
        self._rollouts = rollouts
        self._actions: Iterator[PolicyAction] = iter(())

    def start(self, start: PolicyStart) -> None:
        """Find the rollout by the seed of the episode."""
        self._actions = self._rollouts.actions(start.seed)

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Do the next thing; an episode that outlives the recording is cut."""
        action = next(self._actions, None)
        if action is None:
            raise Cut(TOKEN_LIMIT)
        return action


class _User:
    """Says what the recorded user said, and leaves where the recording ends."""

    io = False

    def __init__(self, rollouts: Rollouts, name: str) -> None:
        self.name, self._rollouts = name, rollouts
        self._said: list[str] = []
        self._leaves = True

    def begin(self, context: StepContext) -> None:
        one = self._rollouts.rollout(context.seed)
        self._leaves = one.ended
        self._said = [message["content"] for message in reversed(one.messages) if message["role"] == "user"]

    async def open(self, context: StepContext) -> Transition:
        return Transition(self._said.pop(), speaker="user")

    async def reply(self, text: str, context: StepContext) -> Transition:
        if not self._said:
            return Transition("", speaker="user", end="agent_end" if self._leaves else None)
        said = self._said.pop()
        return Transition(said, speaker="user", end="user_stop" if self._leaves and not self._said else None)


class _Tools:
    """Answers as recorded; the state changes as the world says."""

    def __init__(self, world: Simulator, rollouts: Rollouts) -> None:
        self.name, self.io = world.name, world.io
        self._world, self._rollouts = world, rollouts
        self._calls: Iterator[RecordedCall] = iter(())

    def begin(self, context: StepContext) -> None:
        self._calls = iter(self._rollouts.rollout(context.seed).calls)
        self._world.begin(context)

    async def open(self, context: StepContext) -> Transition:
        return await self._world.open(context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        answer = await self._world.call(call, context)
        recorded = next(self._calls, None)
        if recorded is None:
            return answer
        if recorded.expected_error == (answer.outcome == "error"):
            return replace(answer, observation=recorded.expected)
        if recorded.expected_error:
            return replace(answer, observation=recorded.expected, outcome="error", error_code=RECORDED)
        return replace(answer, observation=recorded.expected, outcome="ok", error_code=None)


class _Given:
    """Gives the recorded reward."""

    io = False

    def __init__(self, rollouts: Rollouts) -> None:
        self._rollouts = rollouts

    async def score(self, finished: FinishedEpisode) -> Verdict:
        reward = self._rollouts.rollout(finished.seed).expected
        if reward is None:
            return _unknown("no reward was recorded")
        return Verdict(reward, True, reward == 1.0, reward, RECORDED)


class _IfKnown:
    """Judges an episode if its right actions are known."""

    def __init__(self, rollouts: Rollouts, reward: Reward) -> None:
        self.io, self._rollouts, self._reward = reward.io, rollouts, reward

    async def score(self, finished: FinishedEpisode) -> Verdict:
        if self._rollouts.rollout(finished.seed).reward is None:
            return _unknown("the right actions of this task are not known")
        return await self._reward.score(finished)


def _unknown(reason: str) -> Verdict:
    return Verdict(None, False, False, None, RECORDED, reason=reason)
