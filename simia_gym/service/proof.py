"""What `simia check` proves of a service: the expert understands its customers, and no threshold moves unnoticed."""

from __future__ import annotations

import ast
import inspect
import random
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, TypeAlias

from simia_gym.errors import DomainError, InputError
from simia_gym.service.case import Case
from simia_gym.service.reading import Listener
from simia_gym.service.script import OTHER_LINES, Scene, slots_told, turned
from simia_gym.service.service import Service

SAMPLES = 3
"""Number of customers that are drawn with each wish, or with each of its breaches and edges."""
_MOVES: dict[type[ast.cmpop], tuple[tuple[type[ast.cmpop], int], ...]] = {
    ast.Gt: ((ast.GtE, 0),),
    ast.GtE: ((ast.Gt, 0), (ast.GtE, -1)),
    ast.Lt: ((ast.LtE, 0),),
    ast.LtE: ((ast.Lt, 0), (ast.LtE, 1)),
}
"""Comparison to others, with what is added to the right side: those between which the next value is decided."""


Sample: TypeAlias = Callable[[str, int], Scene]
"""Draws a customer with one wish, as `Generator.sample`."""


def unread(service: Service, sample: Sample) -> Iterator[InputError]:
    """Say every line that a customer may say to the expert's reader, with values that are drawn.

    Args:
        service: The service.
        sample: Draws the customers.

    Yields:
        A mistake for each line in which the reader does not find the wish and the slots that it tells.
    """
    check = _Heard(service)
    for at, line in enumerate(service.declared.vague):
        yield from check.line(line, ("vague", at), None)
    for name, wish in service.declared.wishes.items():
        for number in range(SAMPLES):
            scene, rng = sample(name, number), random.Random(number)
            slots = scene.wanted[0].drawn.slots
            case = Case(scene.member.key, service.reader(scene.state), dict(slots))
            spoken = {slot: service.spoken(slot, value, case, rng) for slot, value in slots.items()}
            for at, line in enumerate(wish.say):
                told = {slot: slots[slot] for slot in slots_told([line], wish.slots)}
                for before in ("", *service.declared.greetings, *OTHER_LINES):
                    text = f"{before} {line.format(**spoken)}".strip()
                    yield from check.line(text, ("wishes", name, "say", at), name, told, case)
            for slot, value in slots.items():
                yield from check.slot(slot, value, case, rng)
                for at, line in enumerate(service.declared.slots[slot].describe if slot in wish.slots else ()):
                    place = ("slots", slot, "describe", at)
                    yield from check.line(line.format(**spoken), place, None, {slot: value}, case)
            for slot, value in scene.details.items():
                yield from check.slot(slot, value, case, rng)
    for line in OTHER_LINES:
        yield from check.line(line, ("wishes",), None)


class _Heard:
    """Says lines to the expert, and tells once for each place what it hears otherwise than it should."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._wrong_at: set[str] = set()

    def slot(self, slot: str, value: Any, case: Case, rng: random.Random) -> Iterator[InputError]:
        """The lines that tell a slot: a drawn value, or every one that is listed."""
        declared = self._service.declared.slots[slot]
        for one in [value] if declared.many else [value, *self._service.options(slot, case)]:
            spoken = self._service.spoken(slot, one, case, rng)
            for at, line in enumerate(declared.say):
                yield from self.line(line.format(value=spoken), ("slots", slot, "say", at), None, {slot: one}, case)
            for at, line in enumerate(declared.instead):
                for text in turned([line], spoken):
                    yield from self.line(text, ("slots", slot, "instead", at), None, {slot: one}, case)

    def line(
        self, text: str, place: Sequence[str | int], wish: str | None, told: dict[str, Any] | None = None,
        case: Case | None = None,
    ) -> Iterator[InputError]:  # fmt: skip
        """One line: the wish that it makes, and the slots that it tells."""
        listener = Listener(self._service)
        heard = listener.wish(text)
        if heard != wish:
            yield from self._wrong(
                text, place, f"hears the wish {heard!r}" if heard else "hears no wish", wish or "none"
            )
        listener.hear(text)
        read = listener.slots(told or (), text)
        for slot, value in (told or {}).items():
            if slot not in read and case is not None:
                known = {name: one for name, one in case.known.items() if name != slot}
                read[slot] = listener.find(slot, Case(case.who, case.reader, known))
            if read[slot] != value:
                yield from self._wrong(text, place, f"reads {slot} as {read[slot]!r}", repr(value))

    def _wrong(self, text: str, place: Sequence[str | int], what: str, right: str) -> Iterator[InputError]:
        where = self._service.where(*place)
        if where not in self._wrong_at:
            self._wrong_at.add(where)
            fix = "Change the line, or the pattern that reads it."
            yield DomainError(f"in {text!r} the expert {what}, not {right}", where=where, fix=fix)


def unnoticed(service: Service, notices: Callable[[str], bool]) -> Iterator[str]:
    """Move the boundary of every comparison in every rule, and see whether a breach or an edge notices.

    Args:
        service: The service.
        notices: Whether a breach or an edge is judged otherwise than it should, for a rule's name.

    Yields:
        A note for each comparison that may be moved.
    """
    for name in [name for name, rule in service.declared.rules.items() if rule.always is None]:
        own = service.function(name)
        for where, before, after, moved in _moved(own):
            service.replace(name, moved)
            try:
                if not notices(name):
                    yield (
                        f"warning: {where}: `{before}` may be `{after}`, and no breach and no edge of a wish notices; "
                        "add an edge that is only just allowed, or a breach that is only just forbidden"
                    )
            finally:
                service.replace(name, own)


def _moved(function: Any) -> Iterable[tuple[str, str, str, Any]]:
    """The function with each boundary of its comparisons moved."""
    if not isinstance(function, FunctionType):
        return
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    for node in [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]:
        before, where = ast.unparse(node), f"{function.__code__.co_filename}:{first + node.lineno - 1}"
        for at, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            for other, step in _MOVES.get(type(operator), ()):
                node.ops[at] = other()
                if step:
                    node.comparators[at] = ast.BinOp(right, ast.Add() if step > 0 else ast.Sub(), ast.Constant(1))
                space = dict(function.__globals__)
                exec(compile(ast.fix_missing_locations(tree), "moved", "exec"), space)
                yield where, before, ast.unparse(node), space[function.__name__]
                node.ops[at], node.comparators[at] = operator, right
