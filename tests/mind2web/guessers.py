"""Players without understanding: one remembers letters, one presses what shares words with its task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from simia_gym.envs.mind2web.sites.links import NEXT, PREVIOUS
from simia_gym.envs.mind2web.sites.loading import sites, sites_called
from simia_gym.envs.mind2web.sites.texts import short_date
from simia_gym.envs.mind2web.work.expert import call_of
from simia_gym.envs.mind2web.work.generate import generate
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.envs.mind2web.work.reading import read_page, read_prompt
from simia_gym.envs.mind2web.work.seen import Press, Seen, SeenRow
from simia_gym.policies import PolicyStart
from simia_gym.types import Calls, Message, Task

LEARNED = 1_500
_FIRST = 3
_WORD = re.compile(r"[A-Za-z0-9]+")
_COMMON = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "have", "i", "in", "is", "it")
)
_COMMON |= frozenset(("me", "my", "of", "on", "or", "our", "that", "the", "there", "to", "us", "we", "with", "you"))
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
        prompt = read_prompt(text)
        shown = read_page(prompt, sites_called(prompt.title)[0])
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

    count = 60

    def choose(self, seen: Seen, turn: int) -> Move:
        return learned(self.count).get((_first(seen.task), turn), Move("done"))


class Overlap(Player):
    """Does what shares most words with the task: fills fields, sends forms, takes the row and the step that fit best.

    It ends when a page says what pages say when something was done, or when nothing new shares a word.
    """

    def begin(self) -> None:
        self._tried: set[tuple[str, ...]] = set()
        self._typed: set[str] = set()

    def choose(self, seen: Seen, turn: int) -> Move:
        if turn >= _MOST or not _notices().isdisjoint(seen.words):
            return Move("done")
        if answers := [one for row in _facts(seen) for one in row.cells.items() if _shared(seen.task, one[0])]:
            return Move("done", value=max(answers, key=lambda one: _shared(seen.task, one[0]))[1])
        ways: list[Iterator[tuple[int, tuple[str, ...], Move]]] = [self._fields(seen), self._rows(seen)]
        ways += [self._presses(seen, seen.steps, least=0), self._presses(seen, seen.menu, least=1)]
        if turn == 0 and max((found[0] for found in self._presses(seen, seen.menu, least=1)), default=0) > 0:
            ways.insert(0, self._presses(seen, seen.menu, least=1))
        for way in ways:
            found = [one for one in way if one[1] not in self._tried and one[2].choice]
            if found:
                _, key, move = max(found, key=lambda one: one[0])
                self._tried.add(key)
                if move.tool == "type":
                    self._typed.add(move.value)
                return move
        return Move("done")

    def _fields(self, seen: Seen) -> Iterator[tuple[int, tuple[str, ...], Move]]:
        for field in seen.fields:
            key = (seen.heading, field.label)
            if field.value or field.kind == "flag":
                continue
            if field.kind == "text":
                value = next((value for value in _values(seen.task) if value not in self._typed), None)
                if value is not None:
                    yield 1, key, Move("type", field.letter, value)
            for option in field.options:
                score = _shared(seen.task, option.words)
                if score and field.kind == "list":
                    yield score + 1, key, Move("select", field.letter, option.words)
                elif score:
                    yield score + 1, key, Move("click", option.letter)

    def _rows(self, seen: Seen) -> Iterator[tuple[int, tuple[str, ...], Move]]:
        for row in (row for block in seen.rows for row in block):
            cells = " ".join(row.cells.values())
            for step in row.steps:
                score = 10 * _shared(seen.task, cells) + _shared(seen.task, step.words)
                yield score, (seen.heading, cells, step.words), Move("click", step.letter)

    def _presses(
        self, seen: Seen, presses: Sequence[Press], *, least: int
    ) -> Iterator[tuple[int, tuple[str, ...], Move]]:
        for press in presses:
            score = _shared(seen.task, press.words)
            if score >= least and press.words not in (NEXT, PREVIOUS):
                yield score, (seen.heading, press.words), Move("click", press.letter)


def _first(task: str) -> str:
    return " ".join(task.split()[:_FIRST])


@cache
def _words(text: str) -> frozenset[str]:
    """The words of a text, without common ones and their endings."""
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(re.sub(r"(ations?|ings?|ed|es|s)$", "", word) for word in found if word not in _COMMON)


@cache
def _notices() -> frozenset[str]:
    """What pages say after a form has had its effect."""
    forms = [page.form for site in sites().values() for page in site.pages.values()]
    return frozenset(form.done for form in forms if form is not None and form.done is not None)


def _facts(seen: Seen) -> list[SeenRow]:
    """Rows without steps on a page without fields, as a question might be about."""
    rows = [row for block in seen.rows for row in block]
    return [] if seen.fields or any(row.steps for row in rows) else rows


def _shared(task: str, words: str) -> int:
    return len(_words(task) & _words(words))


@cache
def _values(task: str) -> tuple[str, ...]:
    """What might be typed: quoted words, runs of capitals, addresses, dates and numbers, the longest first."""
    days = {found[0]: short_date(found[0]) or "" for found in re.finditer(r"\d{1,2} [A-Z][a-z]+ \d{4}", task)}
    for day in days:
        task = task.replace(day, " ")
    runs = re.findall(r'"([^"]+)"|((?:[A-Z][\w\'-]*)(?: [A-Z][\w\'-]*)+)|([\w.+-]+@[\w.-]+\w)|(\d[\w:/-]*)', task)
    found = dict.fromkeys(part for run in runs for part in run if part)
    return (*sorted(found, key=len, reverse=True), *days.values())
