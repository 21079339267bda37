"""Whether what a declaration names is there: functions, tools and their arguments, slots, rules, texts to fill."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import DomainError, InputError, did_you_mean
from simia_gym.service.declaration import ServiceDeclaration, WishDeclaration, functions

Where = Callable[[Sequence[str | int]], str]


def problems(
    declared: ServiceDeclaration, function: Callable[[str, str], Any], tools: Mapping[str, ToolSpec], where: Where
) -> Iterator[InputError]:
    """Find the names of a declaration that lead nowhere, and what it lacks.

    Args:
        declared: The declaration.
        function: Gives a function of the module, for a name and the place where it is written.
        tools: The world's tools.
        where: The place of a part in the file.
    """
    check = _Names(declared, tools, where)
    yield from _functions(declared, function, where)
    yield from check.top()
    for name in declared.slots:
        yield from check.slot(name)
    for name, wish in declared.wishes.items():
        yield from check.wish(name, wish)


def _functions(declared: ServiceDeclaration, function: Callable[[str, str], Any], where: Where) -> Iterator[InputError]:
    try:
        function("__name__", where(["module"]))
    except InputError as error:
        yield error
        return
    for path, name, parameters in functions(declared):
        place = where(path)
        try:
            inspect.signature(function(name, place)).bind(*parameters.split(", "))
        except InputError as error:
            yield error
        except (TypeError, ValueError):
            fix = f"Write `def {name}({parameters})`."
            yield DomainError(f"{name!r} is no function of ({parameters})", where=place, fix=fix)


class _Names:
    def __init__(self, declared: ServiceDeclaration, tools: Mapping[str, ToolSpec], where: Where) -> None:
        self.declared, self.tools, self.where = declared, tools, where

    def top(self) -> Iterator[DomainError]:
        """The keys that belong to no slot and no wish."""
        declared = self.declared
        for at, way in enumerate(declared.identify):
            yield from self._call(way.tool, way.arguments, "identify", at)
            yield from self._known("slot", way.slots, declared.slots, "identify", at, "with")
        if declared.handover is not None:
            yield from self._call(declared.handover.tool, declared.handover.arguments, "handover")
        yield from self._known("tool", declared.leave_after, self.tools, "leave_after")
        arguments = {name for spec in self.tools.values() for name in spec.parameters["properties"]}
        yield from self._known("argument of a tool", declared.owners, arguments, "owners")
        used = {name for wish in declared.wishes.values() for name in wish.rules}
        for name, rule in declared.rules.items():
            if name not in used:
                yield self._wrong("no wish has this rule", "Name it under `rules` of a wish.", "rules", name)
            for line in (rule.why, *rule.about):
                yield from self._filled(line, None, "rules", name)

    def slot(self, name: str) -> Iterator[DomainError]:
        """A slot."""
        slot = self.declared.slots[name]
        if slot.read is None and not (slot.choice or slot.find or slot.options):
            fix = "Give it read, choice, find or options."
            yield self._wrong("nothing reads its value from what the customer says", fix, "slots", name)
        for key, lines in (("say", slot.say), ("forms", slot.forms), ("instead", slot.instead)):
            for line in lines:
                yield from self._filled(line, {"value"}, "slots", name, key)
                if "{value}" not in line:
                    yield self._wrong(f"{line!r} does not tell the value", "Write {value}.", "slots", name, key)
        if slot.token is not None:
            yield from self._known("token", [slot.token], self.declared.tokens, "slots", name, "token")

    def wish(self, name: str, wish: WishDeclaration) -> Iterator[DomainError]:
        """A wish."""
        declared, here = self.declared, ("wishes", name)
        yield from self._known("slot", wish.slots, declared.slots, *here, "slots")
        yield from self._known("slot of the wish", wish.keeps, wish.slots, *here, "keeps")
        yield from self._known("slot of the wish", wish.questions, wish.slots, *here, "questions")
        yield from self._known("rule", wish.rules, declared.rules, *here, "rules")
        if wish.token is not None:
            yield from self._known("token", [wish.token], declared.tokens, *here, "token")
        if (wish.call is None) == (not wish.tell):
            yield self._wrong("needs either call or tell", "Give one of the two.", *here)
        elif wish.call is not None:
            yield from self._call(wish.call.tool, wish.call.arguments, *here, "call")
            if wish.values is None:
                sources = [source for source in wish.call.arguments.values() if source != "$who"]
                yield from self._known("slot of the wish", sources, wish.slots, *here, "call", "with")
            for key in ("propose", "does"):
                if not getattr(wish, key):
                    yield self._wrong(f"has a call and lacks {key}", f"Add {key}.", *here)
        elif wish.granted and not wish.answers:
            yield self._wrong("has tell and lacks answers", "Add the texts of which one answers it.", *here)
        for line in wish.say:
            yield from self._filled(line, wish.slots, *here, "say")
        values = wish.slots if wish.values is None else None
        for key in ("propose", "report", "tell", "answers"):
            lines = getattr(wish, key)
            for line in [lines] if isinstance(lines, str) else lines:
                yield from self._filled(line, values, *here, key)
        yield from self._breaches(wish, *here)

    def _breaches(self, wish: WishDeclaration, *here: str) -> Iterator[DomainError]:
        if not wish.granted and not wish.breaches:
            yield self._wrong("is never granted and has no breach", "Give it a breach.", *here)
        for rule in wish.rules:
            if not any(breach.rule == rule for breach in wish.breaches.values()):
                fix = f"Add one with `rule: {rule}`, which proves it."
                yield self._wrong(f"no breach of rule {rule!r}", fix, *here, "breaches")
        for name, breach in wish.breaches.items():
            yield from self._known("rule of the wish", [breach.rule], wish.rules, *here, "breaches", name, "rule")
        for key in ("breaches", "edges"):
            for name, variant in getattr(wish, key).items():
                yield from self._known("slot of the wish", variant.slots, wish.slots, *here, key, name, "slots")

    def _call(self, tool: str, arguments: Iterable[str], *here: str | int) -> Iterator[DomainError]:
        """The tool, and its arguments: all that it needs, and no others."""
        yield from self._known("tool", [tool], self.tools, *here, "tool")
        if tool in self.tools:
            parameters = self.tools[tool].parameters
            yield from self._known(f"argument of {tool}", arguments, parameters["properties"], *here, "with")
            for missing in sorted({*parameters.get("required", ())} - {*arguments}):
                yield self._wrong(f"{tool} needs the argument {missing!r}", "Add it.", *here, "with")

    def _known(
        self, what: str, names: Iterable[str], known: Collection[str], *here: str | int
    ) -> Iterator[DomainError]:
        for at, name in enumerate(names):
            if name not in known:
                fix = f"{did_you_mean(name, known)}There is: {', '.join(sorted(known)) or 'none'}."
                # A list's item has a line of its own, and so has a mapping's key.
                lines = [self.where([*here, part]) for part in (name, at)]
                place = next((line for line in lines if line != self.where(here)), self.where(here))
                yield DomainError(f"there is no {what} {name!r}", where=place, fix=fix)

    def _filled(self, line: str, known: Collection[str] | None, *here: str | int) -> Iterator[DomainError]:
        """The places of a text that are filled in; ``None`` if a function gives values of any name."""
        try:
            names = [re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(line) if name is not None]
        except ValueError as error:
            yield self._wrong(f"{line!r} cannot be filled in: {error}", "Write {{ and }} for braces.", *here)
            return
        for name in names:
            if name == "" or (known is not None and name not in known):
                what = f"nothing fills {{{name}}} in {line!r}"
                filled = ", ".join(f"{{{one}}}" for one in sorted(known or ())) or "none"
                yield self._wrong(what, f"{did_you_mean(name, known or ())}Known here: {filled}.", *here)

    def _wrong(self, what: str, fix: str, *here: str | int) -> DomainError:
        return DomainError(what, where=self.where(here), fix=fix)
