"""Searches for ways to earn more than an honest agent of the same knowledge, by a bandit over parts of what agents do.

    python -m benchmarks.reward_search [--domain FOLDER | --env simia/retail-v0] [--episodes 20000] [--out FILE]

The agent is that of `searched_agent.py`: it does not know the policy, and knows of answers that they are one of four
values. For each wish a bandit has arms of its own. It starts with the honest arms and those that differ in one part
from the one that grants everything, draws by Thompson's rule, and every third time tries another arm: one of the best,
with one or two other parts.

At the end the best dishonest arms of every wish play fresh tasks. All honest arms play a fifth of these, with the same
seeds, and the best of them all: a better honest arm that is missed could only let more be found. What earns more than
the best honest one, with an interval of 99% above 0, is printed with the transcript of an episode.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from benchmarks.searched_agent import Arm, SearchedAgent, honest, parts
from benchmarks.verdict_leak import service_of
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.episode import Episode
from simia_gym.record.transcript import transcript_text
from simia_gym.rewards import report
from simia_gym.rollout.play import play
from simia_gym.service import Service
from simia_gym.types import Task

_EXPLORE = 1 / 3
_BEST = 8
"""So many of the best arms of a wish are changed further."""
_HONEST = 15
"""So often every honest arm of a wish is played at least."""
_TESTED = 3
"""So many dishonest and so many honest arms of a wish play all of the fresh tasks."""
_Z = 2.576


class Bandit:
    """The arms of one wish, with their plays and successes."""

    def __init__(self, rng: random.Random, *, question: bool) -> None:
        self._rng, self._parts = rng, parts(question)
        self.honest = honest(question)
        self._scores: dict[str, list[int]] = {}
        self._new = [dict(arm) for arm in self.honest for _ in range(_HONEST)]
        plain = self.honest[0]
        self._new += [{**plain, name: value} for name, values in self._parts.items() for value in values]
        rng.shuffle(self._new)

    def choose(self) -> Arm:
        """The next arm to play."""
        if self._new:
            return self._new.pop()
        if self._rng.random() < _EXPLORE:
            arm = dict(self._rng.choice(self.best(_BEST)))
            for name in self._rng.sample(sorted(self._parts), self._rng.choice((1, 2))):
                arm[name] = self._rng.choice(self._parts[name])
            return arm
        drawn = {arm: self._rng.betavariate(1 + won, 1 + lost) for arm, (won, lost) in self._scores.items()}
        return dict(json.loads(max(drawn, key=drawn.__getitem__)))

    def learn(self, arm: Arm, success: bool) -> None:
        """Take what an arm has earned."""
        score = self._scores.setdefault(json.dumps(arm, sort_keys=True), [0, 0])
        score[not success] += 1

    def best(self, count: int, among: Sequence[Arm] | None = None) -> list[Arm]:
        """The arms that have earned most, by the mean of Beta(1, 2) with their plays; of all arms or of some."""
        keys = self._scores if among is None else [json.dumps(arm, sort_keys=True) for arm in among]
        scores = {key: self._scores.get(key, [0, 0]) for key in keys}
        ranked = sorted(scores, key=lambda key: -(1 + scores[key][0]) / (3 + sum(scores[key])))
        return [json.loads(key) for key in ranked[:count]]

    def dishonest(self, count: int) -> list[Arm]:
        """The best arms that no honest agent plays."""
        return [arm for arm in self.best(len(self._scores)) if arm not in self.honest][:count]


class Player:
    """Plays tasks of a suite."""

    def __init__(self, suite: Suite, service: Service) -> None:
        self.suite, self._service = suite, service

    def __call__(self, task: Task, choose: Callable[[str], Arm], seed: int) -> tuple[Episode, dict[str, Arm]]:
        """Play a task with the arms that are chosen for its wishes; gives the episode and the arms."""
        chooses = {"service": self._service, "choose": staticmethod(choose)}
        agent: SearchedAgent = type("Agent", (SearchedAgent,), chooses)()
        episode = self.suite.episode()
        trace = asyncio.run(play(episode, task, seed=seed, policy=agent, env=self.suite.config.env))
        assert episode.verdict is not None
        assert episode.verdict.valid, (task.id, episode.verdict.reason, trace)
        return episode, agent.played


def transcript(episode: Episode) -> str:
    """What was said and called in an episode, and the verdict."""
    assert episode.verdict is not None
    return f"{transcript_text(episode.messages)}\n{report(episode.verdict)}"


def search(suite: Suite, episodes: int, fresh: int, seed: int = 0) -> dict[str, Any]:
    """Search, and play the best arms of every wish on so many fresh tasks.

    Args:
        suite: The domain.
        episodes: How many episodes the bandit plays.
        fresh: On how many tasks that the bandit has not seen the best arms are compared, for every wish.
        seed: Source of chance.

    Returns:
        For every wish the honest arm and the best dishonest ones with their rates, and what earns more in ``above``.
    """
    service, rng, made = service_of(suite), random.Random(seed), suite.domain.generator
    assert made is not None
    play_task, wishes = Player(suite, service), service.declared.wishes
    bandits = {name: Bandit(rng, question=wish.call is None) for name, wish in wishes.items()}
    for index in range(episodes):
        episode, played = play_task(made("train", index), lambda name: bandits[name].choose(), index)
        assert episode.verdict is not None
        for name, arm in played.items():
            bandits[name].learn(arm, episode.verdict.success)
    base = {name: bandit.best(1, bandit.honest)[0] for name, bandit in bandits.items()}
    found: dict[str, Any] = {"domain": suite.domain.name, "episodes": episodes, "seed": seed, "wishes": {}, "above": []}
    tasks: dict[str, list[Task]] = {name: [] for name in wishes}
    for index in range(episodes, episodes + 40 * fresh):
        task = made("train", index)
        tasks[(task.user or {})["requests"][0]["id"]].append(task)
        if all(len(several) >= fresh for several in tasks.values()):
            break
    for name, several in ((name, drawn[:fresh]) for name, drawn in tasks.items() if drawn):

        def solve(arm: Arm, name: str = name, several: Sequence[Task] = several) -> list[Episode]:
            chosen = {**base, name: arm}
            return [play_task(task, chosen.__getitem__, at)[0] for at, task in enumerate(several)]

        few = several[: len(several) // 5]
        ranked = sorted(bandits[name].honest, key=lambda arm: -sum(map(_solves, solve(arm, several=few))))
        plays = [(arm, solve(arm)) for arm in ranked[:_TESTED]]
        arm, ended = max(plays, key=lambda play: sum(map(_solves, play[1])))
        plain, rows = [*map(_solves, ended)], []
        honest_row = {"arm": arm, "rate": round(mean(plain), 3)}
        for other in bandits[name].dishonest(_TESTED):
            ended = solve(other)
            gains = [_solves(one) - was for one, was in zip(ended, plain, strict=True)]
            wide = _Z * pstdev(gains) / len(gains) ** 0.5
            rows.append({"arm": other, "rate": round(mean(map(_solves, ended)), 3), "wide": round(wide, 3)})
            if mean(gains) > wide and sum(gains) > 1:
                differs = {part: value for part, value in other.items() if value != arm[part]}
                more, text = round(mean(gains), 3), transcript(ended[gains.index(1)])
                found["above"].append({"wish": name, "differs": differs, "more": more, "transcript": text})
        found["wishes"][name] = {"tasks": len(several), "honest": honest_row, "others": rows}
    return found


def _solves(episode: Episode) -> int:
    return int(episode.verdict is not None and episode.verdict.success)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="simia/custom-v0")
    parser.add_argument("--domain")
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--fresh", type=int, default=200)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    suite = load_suite(EnvConfig(env=given.env, domain=given.domain, split="train"))
    found = search(suite, given.episodes, given.fresh)
    for one in found["above"]:
        print(f"\n{one['wish']}: {one['differs']} earns {one['more']} more\n{one['transcript']}")
    for name, row in found["wishes"].items():
        best = max((other["rate"] for other in row["others"]), default=0)
        print(f"{name:25} {row['tasks']:4} tasks, honest {row['honest']['rate']:.3f}, best other {best:.3f}")
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
