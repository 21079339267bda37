"""One episode for trainers and agents that bring a loop of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from simia_gym.assembly.suite import Suite
from simia_gym.errors import Fault, Role
from simia_gym.evaluation.agents import Agent, policies_of
from simia_gym.llm.types import Sampled
from simia_gym.rollout.play import play
from simia_gym.types import Message, Task, Verdict


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode that was played to its end.

    Attributes:
        task: The task's id.
        seed: The episode's seed.
        group: Id of the episodes that share a world.
        verdict: The verdict; invalid after a fault.
        ended: Why the episode ended, such as ``user_stop``, ``turn_limit`` or ``fault``.
        turns: Number of the agent's actions.
        messages: The whole transcript in OpenAI's format, the agent's messages included.
        sampled: The tokens of a model behind an endpoint, one item an action, as far as its server gives them; empty
            for other agents.
        state: The hash of the final state, without private tables; ``None`` after a fault.
    """

    task: str
    seed: int
    group: str
    verdict: Verdict
    ended: str
    turns: int
    messages: tuple[Message, ...]
    sampled: tuple[Sampled, ...] = ()
    state: str | None = None

    @property
    def reward(self) -> float | None:
        """The reward; ``None`` if a fault left the episode without one. It never stands for 0."""
        return self.verdict.reward if self.verdict.valid else None

    def _repr_html_(self) -> str:
        """The episode in a notebook."""
        from simia_gym.viewer.notebook import html_of_messages

        told = {name: getattr(self, name) for name in ("task", "seed", "turns", "ended")}
        return html_of_messages(self.messages, self.verdict, **told)


async def play_episode(
    suite: Suite,
    task: Task | str,
    agent: Agent,
    *,
    seed: int = 0,
    group: str = "",
    on_fault: Literal["raise", "return"] = "raise",
) -> PlayedEpisode:
    """Play one episode from its first message to its verdict.

    Thousands can be played at the same time on one event loop. An episode that is cancelled frees its world.

    Args:
        suite: The environment, from `load_suite`.
        task: The task, or its id.
        agent: Who plays, as for `evaluate`: a function ``agent(messages, tools)``, plain or async, a policy or its
            name. With `PolicyOptions` a model behind an OpenAI-compatible address plays; of a server that gives them,
            its token ids and log-probabilities are kept:
            ``PolicyOptions(model="m", base_url=url, extra={"logprobs": True, "return_token_ids": True})``.
        seed: The episode's seed: same task and seed, same first message.
        group: Id of the episodes that share a world; a model that plays the world answers them alike.
        on_fault: Whether a fault is raised, or stands in the verdict of the episode that is returned.

    Raises:
        Fault: The simulator, the user, the judge or the agent failed, and ``on_fault`` is ``raise``. Such an episode
            has no reward: leave it out.
        InputError: There is no such task or policy, or the agent cannot play.
    """
    found = suite.task(task) if isinstance(task, str) else task
    _, make_policy, _ = policies_of(agent, suite)
    policy = make_policy()
    episode = suite.episode()
    await play(episode, found, seed=seed, policy=policy, env=suite.config.env, group=group)
    verdict = episode.verdict
    assert verdict is not None  # `play` ends every episode
    if not verdict.valid and on_fault == "raise":
        raise episode.fault or _unjudged(verdict)
    return PlayedEpisode(
        task=found.id,
        seed=seed,
        group=group,
        verdict=verdict,
        ended=episode.ended or "",
        turns=episode.turn,
        messages=tuple(episode.messages),
        sampled=tuple(getattr(policy, "sampled", ())),
        state=episode.final_state,
    )


def _unjudged(verdict: Verdict) -> Fault:
    """The fault of an episode that no judge could decide."""
    info = verdict.fault
    if info is None:
        return Fault("unjudged", verdict.reason)
    return Fault(info.kind, info.message, role=cast(Role, info.role))
