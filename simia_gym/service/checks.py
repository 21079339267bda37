"""Checks of a declaration when it is loaded: what it names is there, and its lines are understood."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from string import Formatter
from typing import Any

from simia_gym.common.validation import Where
from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import DomainError, InputError, did_you_mean
from simia_gym.language import Cue, read, wanted
from simia_gym.service.declaration import ServiceDeclaration, WishDeclaration, functions
from simia_gym.users.cues import Cues


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
    check = _Checks(declared, tools, where)
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


def unfilled(name: str, line: str, known: Collection[str], where: str) -> DomainError:
    """The error of a line with a place that nothing fills."""
    fix = f"{did_you_mean(name, known)}Known here: {', '.join(f'{{{one}}}' for one in sorted(known)) or 'none'}."
    return DomainError(f"nothing fills {{{name}}} in {line!r}", where=where, fix=fix)


_REFUSE = 'Say what cannot be done, as in "I cannot lend it: all copies are out."'


def _plain(line: str) -> str:
    """A line with names instead of the values that fill it."""
    return re.sub(r"\{(\w+)[^}]*\}", r"\1", line)


def _keys(names: Iterable[str]) -> dict[str, str]:
    """Names that are keys of the file, each at its own place."""
    return {name: name for name in names}


class _Checks:
    """Checks the parts of a declaration, one after the other."""

    def __init__(self, declared: ServiceDeclaration, tools: Mapping[str, ToolSpec], where: Where) -> None:
        self.declared, self.tools, self.where = declared, tools, where

    def top(self) -> Iterator[DomainError]:
        """The keys that belong to no slot and no wish."""
        declared = self.declared
        for at, way in enumerate(declared.identify):
            yield from self._call(way.tool, way.arguments, "identify", at)
            slots = dict(enumerate(way.slots))
            yield from self._known("there is no slot", slots, declared.slots, "identify", at, "with")
            yield from self._known("`with` has no argument", {"who": way.who}, way.arguments, "identify", at)
        if declared.handover is not None:
            yield from self._call(declared.handover.tool, declared.handover.arguments, "handover")
        yield from self._known("there is no tool", dict(enumerate(declared.leave_after)), self.tools, "leave_after")
        arguments = {name for spec in self.tools.values() for name in spec.parameters["properties"]}
        yield from self._known("no tool has an argument", _keys(declared.owners), arguments, "owners")
        kinds = {declared.kind_of(*pair) for pair in (*declared.allowed, *declared.refused)}
        for name, kind in declared.kinds.items():
            yield from self._known("there is no kind", dict(enumerate(kind.of)), kinds, "kinds", name, "of")
            yield from self._known("there is no wish", {"then": kind.then}, declared.wishes, "kinds", name)
            yield from self._known("there is no slot", {"slot": kind.slot}, declared.slots, "kinds", name)
            kinds.add(name)
        for split, names in declared.fixed.items():
            yield from self._known("there is no kind", dict(enumerate(names)), kinds, "fixed", split)
        used = {name for wish in declared.wishes.values() for name in wish.rules}
        for name, rule in declared.rules.items():
            if name not in used:
                yield self._wrong("no wish has this rule", "Name it under `rules` of a wish.", "rules", name)
            for line in (rule.why, *rule.about):
                yield from self._filled(line, None, "rules", name)
            said = read(f"I'm sorry, but {_plain(rule.why)}")
            if declared.handover is None and not said.refusals:
                yield self._wrong("why is not understood as a refusal", _REFUSE, "rules", name, "why")
            if rule.about and not any(wanted(_plain(text)).stands_in(said) for text in rule.about):
                what, fix = f"none of {list(rule.about)} stands in why", "Name words of the refusal."
                yield self._wrong(what, fix, "rules", name, "about")
        yield from self._filled(declared.stranger, (), "stranger")
        if not read(declared.stranger).refusals:
            fix = 'Say that you cannot help: a search that failed is no refusal, "so I cannot help you" is one.'
            yield self._wrong("it is not understood as a refusal", fix, "stranger")

    def slot(self, name: str) -> Iterator[DomainError]:
        """A slot."""
        slot = self.declared.slots[name]
        if slot.read is None and not (slot.choice or slot.find or slot.options):
            fix = "Give it read, choice, find or options."
            yield self._wrong("nothing reads it in what the customer says", fix, "slots", name)
        for key, lines in (("say", slot.say), ("forms", slot.forms), ("instead", slot.instead)):
            for line in lines:
                yield from self._filled(line, {"value"}, "slots", name, key)
                if "{value}" not in line:
                    yield self._wrong(f"{line!r} does not tell the value", "Write {value}.", "slots", name, key)
        cues = Cues({"slots": {name: {"ask": slot.ask}}})
        for line in slot.question:
            if name not in cues.hear(line).asks:
                fix = "Let a pattern of `ask` match it, and let it ask for something."
                yield self._wrong(f"customers do not understand {line!r} as asking for it", fix, "slots", name, "ask")
        yield from self._known("there is no token", {"token": slot.token}, self.declared.tokens, "slots", name)

    def wish(self, name: str, wish: WishDeclaration) -> Iterator[DomainError]:
        """A wish."""
        declared, here = self.declared, ("wishes", name)
        yield from self._known("there is no slot", dict(enumerate(wish.slots)), declared.slots, *here, "slots")
        yield from self._known("the wish has no slot", dict(enumerate(wish.keeps)), wish.slots, *here, "keeps")
        yield from self._known("the wish has no slot", _keys(wish.questions), wish.slots, *here, "questions")
        yield from self._known("there is no rule", dict(enumerate(wish.rules)), declared.rules, *here, "rules")
        yield from self._known("there is no wish", dict(enumerate(wish.then)), declared.wishes, *here, "then")
        yield from self._known("there is no token", {"token": wish.token}, declared.tokens, *here)
        if (wish.call is None) == (not wish.tell):
            yield self._wrong("needs either call or tell", "Give one of the two.", *here)
        elif wish.call is not None:
            yield from self._call(wish.call.tool, wish.call.arguments, *here, "call")
            if wish.values is None:
                sources = {name: source for name, source in wish.call.arguments.items() if source != "$who"}
                yield from self._known("the wish has no slot", sources, wish.slots, *here, "call", "with")
            for key in ("propose", "does"):
                if not getattr(wish, key):
                    yield self._wrong(f"has a call and lacks {key}", f"Add {key}.", *here)
            if wish.propose and wish.does and not Cue(wish.does).occurs(_plain(wish.propose).lower()):
                fix = "Let a pattern of `does` match `propose`, in lower case."
                yield self._wrong(f"customers do not understand {wish.propose!r}", fix, *here, "does")
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
        for name in sorted(wish.edges.keys() & wish.breaches.keys()):
            yield self._wrong("there is a breach of this name", "Give the edge another name.", *here, "edges", name)
        for name, breach in wish.breaches.items():
            yield from self._known("the wish has no rule", {"rule": breach.rule}, wish.rules, *here, "breaches", name)
        for key in ("breaches", "edges"):
            for name, variant in getattr(wish, key).items():
                there = (*here, key, name, "slots")
                yield from self._known("the wish has no slot", _keys(variant.slots), wish.slots, *there)

    def _call(self, tool: str, arguments: Iterable[str], *here: str | int) -> Iterator[DomainError]:
        """The tool, and its arguments: all that it needs, and no others."""
        yield from self._known("there is no tool", {"tool": tool}, self.tools, *here)
        if tool in self.tools:
            parameters = self.tools[tool].parameters
            yield from self._known(f"{tool} has no argument", _keys(arguments), parameters["properties"], *here, "with")
            for missing in sorted({*parameters.get("required", ())} - {*arguments}):
                yield self._wrong(f"{tool} needs the argument {missing!r}", "Add it.", *here, "with")

    def _known(
        self, problem: str, names: Mapping[Any, str | None], known: Collection[str], *here: str | int
    ) -> Iterator[DomainError]:
        """Names that are not among those that are known.

        Args:
            problem: What is wrong with such a name, up to the name.
            names: The names, by the key or index at which they stand; ``None`` where none is given.
            known: The names that there are.
            *here: The place of the keys.
        """
        for part, name in names.items():
            if name is not None and name not in known:
                fix = f"{did_you_mean(name, known)}There is: {', '.join(sorted(known)) or 'none'}."
                yield self._wrong(f"{problem} {name!r}", fix, *here, part)

    def _filled(self, line: str, known: Collection[str] | None, *here: str | int) -> Iterator[DomainError]:
        """The places of a text that are filled in; ``None`` if a function gives values of any name."""
        try:
            names = [re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(line) if name is not None]
        except ValueError as error:
            yield self._wrong(f"{line!r} cannot be filled in: {error}", "Write {{ and }} for braces.", *here)
            return
        for name in names:
            if name == "" or (known is not None and name not in known):
                yield unfilled(name, line, known or (), self.where(here))

    def _wrong(self, what: str, fix: str, *here: str | int) -> DomainError:
        return DomainError(what, where=self.where(here), fix=fix)
