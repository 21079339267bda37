"""Whether what the customers of a service say tells if their wish is allowed, before the rules were looked at.

Three agents that know nothing play generated tasks: one refuses everything, one only asks to wait, one asks for every
detail, proposes what the customer wants, and backs out of it. From what the customer says and does, and in which of his
messages, a logistic regression tells the forbidden wishes from the allowed ones. It learns from one half of the tasks;
its AUC on the other half compares only tasks with the same wish; 0.5 in the interval means that nothing is given away.
Names, ids and the other wishes are masked.

A fourth agent makes use of a leak: it refuses everything once, and goes on only if the objection could be anybody's. It
should solve no more than the agent without this trick, which grants everything.

    python benchmarks/verdict_leak.py [--domain FOLDER | --env simia/retail-v0] [--tasks 8000] [--apart KIND ...]
                                      [--facts SLOT ...] [--out FILE]

What customers choose is left as it is, unless ``--facts`` names the slot: a value that the rules look at, such as the
account for a refund, is a fact of the wish. Kinds that are named by ``--apart`` are left out of a second figure. If a
breach needs a certain way of speaking, such as an id for a thing that is not the customer's, its kind is one of these.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.errors import InputError
from simia_gym.policies import NullPolicy, Policy, RefuserPolicy
from simia_gym.rollout.play import play
from simia_gym.service import Pushover, Service, ServiceExpert
from simia_gym.types import Task, ToolCall
from simia_gym.users.scripted import INSIST

Numbers = NDArray[np.float64]
_RARE = 20
"""A word that fewer tasks have is no feature."""
_WORDS = 400
_STEP = 5
"""Lengths of messages are told apart in steps of so many words."""
_PENALTY = 10.0
_CLOSE_ENOUGH = 1e-4


class Delayer(NullPolicy):
    """Asks the customer to wait."""

    text = "One moment, please."


class Undecided(Pushover):
    """Proposes what the customer wants, and backs out when he agrees; answers no question."""

    def _next(self) -> str | ToolCall:
        asks = self._wish is not None and self._present.call is None and not self._closed
        step = super()._next()
        if (self._proposed is not None and self._agreed) or (asks and self._closed):
            self._proposed, self._agreed, self._closed, self._outcome = None, False, True, "refused"
            return "I'm sorry, I cannot do that after all."
        return step


class Tester(Pushover):
    """Refuses everything once, and goes on if the objection could be anybody's."""

    _tested: str | None = None

    def _begin(self, first: str) -> None:
        super()._begin(first)
        self._tested = None

    def _hear(self, text: str) -> None:
        if self._outcome != "refused" or text in INSIST or self._listener.wish(text) is not None:
            super()._hear(text)

    def _next(self) -> str | ToolCall:
        step = super()._next()
        wish = self._wish
        if wish != self._tested and isinstance(step, str) and (self._closed or self._proposed is not None):
            self._tested, self._proposed, self._closed, self._outcome = wish, None, True, "refused"
            return "I'm sorry, but I cannot do that."
        return step


@dataclass(frozen=True)
class Talk:
    """What a customer said and when: the wish, whether the rules forbid it, the task's kind, and the marks."""

    wish: str
    forbidden: bool
    kind: str
    words: frozenset[str]


def agents(service: Service) -> dict[str, type[Policy]]:
    """The agents that know nothing."""
    undecided = type("Undecided", (Undecided,), {"service": service})
    return {"refuses": RefuserPolicy, "delays": Delayer, "proposes and backs out": undecided}


def service_of(suite: Suite) -> Service:
    """The service that a domain's expert serves.

    Raises:
        InputError: The domain is not built on one.
    """
    expert = suite.load_policy("expert")
    if not (isinstance(expert, type) and issubclass(expert, ServiceExpert)):
        raise InputError("its expert serves no declared service", where=suite.domain.name, fix="Choose another domain.")
    return expert.service


def listen(
    suite: Suite, service: Service, make: type[Policy], tasks: Sequence[Task], facts: Collection[str] = ()
) -> list[Talk]:
    """Let an agent talk to the customer of each task.

    Returns:
        The talks, without those in which the agent learns the verdict by a look: at what it cannot find, be it who the
        customer is or what a proposal, which does not name it then, is about.
    """

    async def run() -> list[Talk]:
        talks = []
        for seed, task in enumerate(tasks):
            episode = suite.episode()
            await play(episode, task, seed=seed, policy=make(), env=suite.config.env)
            talks.append(_talk(service, task, [e for e in episode.ledger.events if e.get("speaker") == "user"], facts))
        return talks

    talks = asyncio.run(run())
    looks, stranger = issubclass(make, ServiceExpert), service.declared.stranger_kind
    return [one for one in talks if not (looks and (one.kind == stranger or "act clarify 1" in one.words))]


def _talk(service: Service, task: Task, events: Sequence[Any], facts: Collection[str]) -> Talk:
    requests = (task.user or {})["requests"]
    first = requests[0]["id"]
    said: list[str] = []
    words: Counter[str] = Counter()
    for number, event in enumerate(events):
        meta = event.get("meta") or {}
        text = _masked(service, task, event.get("observation") or event.get("text") or "", facts)
        said += ["<turn>", *re.findall(r"<[\w ]+>|\w+", text)]
        words.update(f"act {act}" for act in meta.get("acts", ()))
        words.update(f"{act} in message {number}" for act in meta.get("acts", ()))
        words[f"{len(text.split()) // _STEP * _STEP} words in message {number}"] += 1
        if meta.get("request", first) not in (first, f"{first}_otherwise"):
            break  # from here on the customer talks of another wish
    words.update([*said, *map(" ".join, pairwise(said))])
    marked = frozenset(f"{word} {times}" for word, count in words.items() for times in range(1, min(count, 6) + 1))
    ids = {item["id"] for item in task.criteria}
    return Talk(first, bool(ids & {"refused", "refused_1", "handed_over"}), task.kind, marked)


def _masked(service: Service, task: Task, text: str, facts: Collection[str]) -> str:
    masks: dict[str, str] = {}
    user = task.user or {}
    requests = user["requests"]
    changes = [request["change"] for request in requests if "change" in request]
    slots = [user["facts"], *(part["slots"] for part in (*requests, *changes) if "slots" in part)]
    for name, answer in (item for several in slots for item in several.items()):
        declared = service.declared.slots.get(name)
        if declared is None or name in facts or not (declared.choice or declared.options):
            masks |= dict.fromkeys(answer["values"], f"<{name}>")
    for request in requests:
        if not request.get("otherwise"):
            masks |= dict.fromkeys(request["say"], "<wish>")
    for value in sorted(masks, key=len, reverse=True):
        text = text.replace(value, masks[value]).replace(value[:1].upper() + value[1:], masks[value])
    return text


def auc(talks: Sequence[Talk]) -> dict[str, Any]:
    """The AUC within wishes on the second half of the talks, learnt from the first, with the telling words.

    If nothing is given away, every order of the second half's verdicts within a wish is as likely, whatever was learnt.
    So the pairs in the right order have the known spread of a rank sum, which gives the interval (95%). Scores out of
    folds would not do: what two folds have in common by chance counts twice, and they spread more than they show.
    """
    counts = Counter(word for talk in talks for word in talk.words)
    kept = [word for word, count in counts.most_common(_WORDS) if _RARE <= count <= len(talks) - _RARE]
    wishes = sorted({talk.wish for talk in talks})
    wish = np.array([wishes.index(talk.wish) for talk in talks])
    columns = [[word in talk.words for word in kept] for talk in talks]
    features = np.hstack([np.array(columns, float).reshape(len(talks), -1), np.eye(len(wishes))[wish]])
    labels = np.array([talk.forbidden for talk in talks], float)
    half = len(talks) // 2
    weights = _fitted(features[:half], labels[:half])
    won, pairs, spread = _within(wish[half:], labels[half:], features[half:] @ weights)
    value, width = won / pairs, 1.96 * spread / pairs
    telling = [kept[place] for place in np.argsort(-abs(weights[: len(kept)]))[:5]]
    interval = [round(value - width, 3), round(value + width, 3)]
    return {"auc": round(value, 3), "interval": interval, "tasks": len(talks), "words": telling}


def _fitted(features: Numbers, labels: Numbers) -> Numbers:
    """The weights of a logistic regression with a quadratic penalty, by Newton's method."""
    weights = np.zeros(features.shape[1])
    for _ in range(12):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (likely - labels) + _PENALTY * weights
        bend = (features.T * (likely * (1 - likely))) @ features + _PENALTY * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        weights -= step
        if abs(step).max() < _CLOSE_ENOUGH:
            break
    return weights


def _within(group: NDArray[Any], labels: Numbers, scores: Numbers) -> tuple[float, int, float]:
    """The pairs of one group, forbidden and allowed, that scores put in order, of how many, and their spread by chance.

    Ties count half, as in the test of Mann and Whitney.
    """
    won, pairs, variance = 0.0, 0, 0.0
    for one in np.unique(group):
        bad, good = scores[(group == one) & (labels == 1)], np.sort(scores[(group == one) & (labels == 0)])
        many, count = len(bad) * len(good), len(bad) + len(good)
        if many:
            tied = np.unique(np.concatenate([bad, good]), return_counts=True)[1]
            won += float((np.searchsorted(good, bad, "left") + np.searchsorted(good, bad, "right")).sum()) / 2
            pairs += many
            variance += many / 12 * (count + 1 - float((tied**3 - tied).sum()) / (count * (count - 1)))
    return won, pairs, variance**0.5


def solved(suite: Suite, make: Callable[[], Policy], tasks: Sequence[Task]) -> list[bool]:
    """Which tasks an agent solves."""

    async def run() -> list[bool]:
        found = []
        for seed, task in enumerate(tasks):
            episode = suite.episode()
            await play(episode, task, seed=seed, policy=make(), env=suite.config.env)
            found.append(episode.verdict is not None and episode.verdict.success)
        return found

    return asyncio.run(run())


def trick(suite: Suite, service: Service, tasks: Sequence[Task]) -> dict[str, int]:
    """How many tasks the agent solves that refuses once and listens, and the one that grants everything."""
    both = {"refuses once and listens": Tester, "grants everything": Pushover}
    return {name: sum(solved(suite, type(name, (of,), {"service": service}), tasks)) for name, of in both.items()}


def measure(config: EnvConfig, count: int, apart: Collection[str] = (), facts: Collection[str] = ()) -> dict[str, Any]:
    """The figures of every agent, with all kinds, and without those apart."""
    suite = load_suite(config)
    service = service_of(suite)
    tasks = [suite.domain.generator("train", index) for index in range(count)] if suite.domain.generator else []
    found: dict[str, Any] = {}
    for name, make in agents(service).items():
        talks = listen(suite, service, make, tasks, facts)
        found[name] = auc(talks)
        if apart:
            found[name]["without those apart"] = auc([talk for talk in talks if talk.kind not in apart])
    few = tasks[: count // 4]
    solved = {**trick(suite, service, few), "tasks": len(few)}
    given = {"apart": sorted(apart), "facts": sorted(facts)}
    return {"domain": suite.domain.name, **given, "agents": found, "solved": solved}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--env", default="simia/custom-v0")
    parser.add_argument("--domain")
    parser.add_argument("--tasks", type=int, default=8000)
    parser.add_argument("--apart", nargs="*", default=[])
    parser.add_argument("--facts", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    result = measure(
        EnvConfig(env=given.env, domain=given.domain, split="train"), given.tasks, given.apart, given.facts
    )
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
