"""Players without understanding: one remembers letters, one presses what shares words with its task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from simia_gym.envs.mind2web.sites.loading import sites_called
from simia_gym.envs.mind2web.work.expert import call_of
from simia_gym.envs.mind2web.work.generate import generate
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.envs.mind2web.work.reading import read_observation, read_task
from simia_gym.envs.mind2web.work.seen import Press, Seen
from simia_gym.policies import PolicyStart
from simia_gym.types import Calls, Message, Task

LEARNED = 1_500
_FIRST = 3
_WORD = re.compile(r"[A-Za-z0-9]+")
_COMMON = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "have", "i", "in", "is", "it")
)
_COMMON |= frozenset(("me", "my", "of", "on", "or", "our", "that", "the", "there", "to", "us", "we", "with", "you"))
_SAID_DONE = re.compile(r"[A-Z][\w' -]* (?:is|are|has been|have been) [\w' -]+\.")
_MOST = 12


class Player:
    """Plays moves; a subclass chooses them."""

    def start(self, start: PolicyStart) -> None:
        self._grammar = start.grammar
        self._turn = -1
        self.begin()

    def begin(self) -> None:
        """Begin an episode."""

    def act(self, messages: Sequence[Message]) -> str:
        self._turn += 1
        text = str(messages[-1]["content"])
        shown = read_observation(text, sites_called(read_task(text)[0])[0])
        return self._grammar.render(Calls((call_of(self.choose(shown, self._turn)),)))

    def choose(self, seen: Seen, turn: int) -> Move:
        raise NotImplementedError


def table_of(tasks: Iterable[Task]) -> dict[tuple[str, int], Move]:
    """The commonest action by the first words of a task and the number of the step."""
    seen: dict[tuple[str, int], Counter[Move]] = {}
    for task in tasks:
        for step, call in enumerate(task.gold):
            given = call["arguments"]
            value = given.get("value", given.get("answer", ""))
            move = Move(call["name"], given.get("choice", ""), value)
            seen.setdefault((_first(task.instruction or ""), step), Counter())[move] += 1
    return {key: counted.most_common(1)[0][0] for key, counted in seen.items()}


@cache
def learned(count: int = LEARNED) -> dict[tuple[str, int], Move]:
    return table_of(generate("train", index) for index in range(count))


class Rememberer(Player):
    """Presses the letters that were right most often in training, by the first words of the task and the step."""

    count = LEARNED

    def choose(self, seen: Seen, turn: int) -> Move:
        return learned(self.count).get((_first(seen.task), turn), Move("done"))


class Option(NamedTuple):
    """Something that can be done, and all words that stand around it."""

    move: Move
    key: tuple[str, ...]
    words: str


class Overlap(Player):
    """Does what shares most words with the task, each thing once, until a page says that something is done."""

    def begin(self) -> None:
        self._tried: set[tuple[str, ...]] = set()
        self._typed: set[str] = set()

    def choose(self, seen: Seen, turn: int) -> Move:
        if turn >= _MOST or any(_SAID_DONE.fullmatch(words) for words in seen.words):
            return Move("done")
        wanted = _words(seen.task)
        options = [one for one in self._options(seen) if one.key not in self._tried and one.move.choice]
        scores = [(len(wanted & _words(one.words)), -place) for place, one in enumerate(options)]
        if not options:
            return Move("done")
        best = options[max(range(len(options)), key=scores.__getitem__)]
        self._tried.add(best.key)
        if best.move.tool == "type":
            self._typed.add(best.move.value)
        return best.move

    def _options(self, seen: Seen) -> Iterator[Option]:
        page = seen.heading
        for field in seen.fields:
            if field.kind == "text" and not field.value:
                for value in _values(seen.task):
                    if value not in self._typed:
                        yield Option(Move("type", field.letter, value), (page, field.label), field.label)
                        break
            if field.kind == "list":
                for option in field.options:
                    move = Move("select", field.letter, option.words)
                    if _words(option.words) & _words(seen.task):
                        yield Option(move, (page, field.label), f"{field.label} {option.words}")
            if field.kind in ("radio", "flag"):
                for option in field.options or (Press("", field.letter),):
                    words = f"{field.label} {option.words}"
                    yield Option(Move("click", option.letter), (page, words), words)
        for block in seen.rows:
            for row in block:
                for step in row.steps:
                    cells = " ".join(row.cells.values())
                    yield Option(Move("click", step.letter), (page, cells, step.words), f"{cells} {step.words}")
        for step in (*seen.steps, *seen.menu):
            yield Option(Move("click", step.letter), (page, step.words), step.words)


def _first(task: str) -> str:
    return " ".join(task.split()[:_FIRST])


@cache
def _words(text: str) -> frozenset[str]:
    """The words of a text, without common ones and their endings."""
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(re.sub(r"(ations?|ings?|ed|es|s)$", "", word) for word in found if word not in _COMMON)


@cache
def _values(task: str) -> tuple[str, ...]:
    """What might be typed: quoted words, runs of capitals, addresses and numbers, the longest first."""
    runs = re.findall(r'"([^"]+)"|((?:[A-Z][\w\'-]*)(?: [A-Z][\w\'-]*)+)|([\w.+-]+@[\w.-]+\w)|(\d[\w:/-]*)', task)
    found = dict.fromkeys(part for run in runs for part in run if part)
    return tuple(sorted(found, key=len, reverse=True))
