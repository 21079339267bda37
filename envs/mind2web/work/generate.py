"""Generates any number of tasks: of six sites for training, and for tests in thirds also of new sites and a new theme.

The rows of the account, prices and the order of rows are drawn anew. What is different in the end follows from the
file of the site. The gold actions are those of the expert, which reads only pages; `simia check` and the tests prove
that they lead there.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Literal, get_args

from simia_gym.envs._work.numbers import generated_task, shipped_tasks
from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.screen import new_session, render
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.rows import catalogue_rows
from simia_gym.envs.mind2web.sites.spec import Kinds, Site
from simia_gym.envs.mind2web.sites.texts import filled
from simia_gym.envs.mind2web.work.checks import check
from simia_gym.envs.mind2web.work.drawing import DrawAgainError, Drawn
from simia_gym.envs.mind2web.work.expert import call_of, moves
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.envs.mind2web.work.sentences import Sentences
from simia_gym.envs.mind2web.work.ways import way_of
from simia_gym.envs.mind2web.world import SiteWorld
from simia_gym.errors import InputError
from simia_gym.state import State, make_pointer
from simia_gym.types import JsonObject, Op, Row, Split, Task, ToolCall

N_FIXED = {"train": 30, "test": 30}
"""Number of tasks that ship with the domain."""
NEW_SITES, NEW_THEME = ("clinic", "courier"), "open"
"""What only tests have."""
Third = Literal["known sites", "new sites", "new sites and theme"]
THIRDS: tuple[Third, ...] = ("known sites", "new sites", "new sites and theme")
FEWEST, MOST = 3, 13
"""The actions of a task, the end included."""
_TRIES, _VALUES = 400, 10
_KNOWN_THEMES = tuple(theme.name for theme in THEMES if theme.name != NEW_THEME)


def generate(split: Split, index: int) -> Task:
    """Generate a task.

    Returns:
        The task; the same arguments give the same task.

    Raises:
        InputError: The index is out of range.
    """
    return generated_task(_task, "mind2web", split, index)


def fixed_tasks(split: Split) -> list[Task]:
    """Generate the tasks that ship with the domain."""
    return shipped_tasks(_task, "mind2web", split, N_FIXED[split])


def _task(task_id: str, split: Split, number: int, seed: str) -> Task:
    third = THIRDS[number % len(THIRDS)] if split == "test" else "known sites"
    number = number // len(THIRDS) if split == "test" else number
    kinds = kinds_of(third == "known sites")
    maker, name = kinds[number % len(kinds)]
    rng = random.Random(seed)
    theme = NEW_THEME if third == "new sites and theme" else rng.choice(_KNOWN_THEMES)
    return maker.task(task_id, split, name, theme, rng, {"third": third})


@cache
def kinds_of(known: bool) -> Sequence[tuple[SiteTasks, str]]:
    """The kinds of the sites of a third: one of each label by turns, beginning with another site for each label."""
    makers = [SiteTasks(site) for name, site in sites().items() if (name not in NEW_SITES) == known]
    labels: dict[str, list[tuple[SiteTasks, str]]] = {label: [] for label in get_args(Kinds)}
    for maker in makers:
        for name, kind in maker.site.kinds.items():
            labels[kind.kind].append((maker, name))
    turned = [_turned(found, shift) for shift, found in enumerate(labels.values()) if found]
    return [one for turn in zip_longest(*turned) for one in turn if one is not None]


def _turned(found: list[tuple[SiteTasks, str]], shift: int) -> list[tuple[SiteTasks, str]]:
    shift %= len(found)
    return found[shift:] + found[:shift]


class SiteTasks:
    """Makes tasks of a site.

    Args:
        site: The site.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self._base = State.from_tables({"catalogue": catalogue_rows(site), "account": {}, "session": {}})
        self._sentences = Sentences(site)
        self._world = SiteWorld()

    def task(
        self, task_id: str, split: Split, name: str, theme: str, rng: random.Random, options: Mapping[str, str]
    ) -> Task:
        """Make a task.

        Args:
            task_id: Its id.
            split: Its split.
            name: The name of its kind in the file of the site.
            theme: The name of the theme in which pages are drawn.
            rng: Draws the rest.
            options: Further options of the task.

        Raises:
            InputError: No task of this kind can be drawn from the file of the site.
        """
        kind, why = self.site.kinds[name], ""
        drawn = Drawn(rng, self.site, self._base, kind)
        for turn in range(1, _TRIES + 1):
            if turn % _VALUES == 0:
                drawn = Drawn(rng, self.site, self._base, kind)
            try:
                drawn.draw()
                sentence, end = self._said(drawn, name, rng), drawn.end()
                asked = self._sentences.read(sentence)
                check(drawn, [way_of(self.site, wish, asked.slots) for wish in kind.wishes], asked.slots, end)
                session = new_session(self.site, sentence, theme, rng.getrandbits(32), asks=kind.answer is not None)
                opened: Op = {"op": "add", "path": "/session/main", "value": session}
                gold = self._played(drawn.state.apply([opened]))
            except DrawAgainError as error:
                why = str(error)
                continue
            return Task(
                id=task_id,
                split=split,
                kind=kind.kind,
                instruction=sentence,
                setup=(*drawn.setup, opened),
                gold=tuple({"name": call.name, "arguments": call.arguments} for call in gold),
                goal=tuple(_test(key, row) for key, row in end.items()),
                criteria=() if kind.answer is None else (_answered(filled(kind.answer, drawn.text)),),
                options={"site": self.site.name, "theme": theme, "way": name, **options},
            )
        fix = "Let more rows fit, or draw other values."
        raise InputError(f"no task can be drawn: {why}", where=f"{self.site.name}: kinds.{name}", fix=fix)

    def _said(self, drawn: Drawn, name: str, rng: random.Random) -> str:
        """A sentence that is read as what it was written from."""
        sentence = filled(rng.choice(drawn.kind.say), drawn.text)
        asked = self._sentences.read(sentence)
        if asked.name != name or any(drawn.text(slot) != text for slot, text in asked.slots.items()):
            raise DrawAgainError(f"{sentence!r} is also a sentence of {asked.name}")
        return sentence

    def _played(self, state: State) -> list[ToolCall]:
        """The calls of the expert, which are neither too few nor too many."""
        shown, calls = render(state), list[ToolCall]()
        while len(calls) < MOST:
            calls.append(call_of((moves(shown) or (Move("done"),))[0]))
            if calls[-1].name == "done":
                if len(calls) < FEWEST:
                    raise DrawAgainError("the task is too short")
                return calls
            done = self._world.call(state, calls[-1])
            state, shown = done.state or state, done.observation
        raise DrawAgainError("the task is too long")


def _test(key: str, row: Row | None) -> Op:
    return {"op": "test", "path": make_pointer("account", key), "value": row}


def _answered(answer: str) -> JsonObject:
    check: JsonObject = {"program": "simia_gym.envs.mind2web.work.answers:answered", "value": answer}
    return {"id": "answered", "kind": "communication", "check": check, "says": "The answer is right."}
