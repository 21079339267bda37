"""A policy that makes mistakes at a rate: graded behaviour from an expert, as ``expert:0.2`` or ``expert:0.2:WAY``."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from simia_gym.actions.calls import call_message, read_action
from simia_gym.actions.signatures import function_of
from simia_gym.errors import InputError, did_you_mean
from simia_gym.language import read
from simia_gym.policies.base import Policy, PolicyStart
from simia_gym.policies.built_in import ClaimerPolicy, RefuserPolicy, ending
from simia_gym.policies.offered import first_offered
from simia_gym.types import Calls, End, Message, PolicyAction, Say, ToolCall

ANY: tuple[str, ...] = ("wrong-argument", "stops-early")
"""Ways that mean something for any policy."""
WAYS: Mapping[str, str] = {
    "wrong-argument": "a call has one wrong argument",
    "first-option": "a call takes the first of the options that were shown, not the right one",
    "forgotten-confirmation": "a question for a yes is not asked, and the change is made at once",
    "claims-only": "in place of a question for a yes, and of all that follows, it says that all is done",
    "never-refuses": "in place of a refusal it says that all is done",
    "skipped-step": "a call is left out, and it goes on as if the call had been made",
    "stops-early": "it gives up, for good, before the work is done",
}
"""The ways in which an action can be spoiled; a policy names those that mean something for it as ``mistakes``."""


class Spoiling(NamedTuple):
    """What a name such as ``expert:0.2:wrong-argument`` asks for.

    Attributes:
        name: The policy to spoil.
        rate: The share of its actions; ``None`` if nothing is to be spoiled.
        way: How; ``None`` for a mixture.
    """

    name: str
    rate: float | None = None
    way: str | None = None


class SpoiledPolicy:
    """Plays like another policy, but spoils a share of its actions, drawn with the episode's seed.

    Without a way, a spoiled call has one wrong argument, a spoiled refusal says that it is done, and a spoiled question
    for a yes is not asked: the policy goes on as if the answer had been yes. With a way of `WAYS`, only that is done.
    Actions for which it means nothing are never spoiled. Where a mistake has led the other policy to an exception, it
    apologises.

    Args:
        make: Makes the other policy, which must answer without waiting, as an expert does.
        rate: The share, from 0 to 1.
        way: One of `WAYS`.
    """

    def __init__(self, make: Callable[[], Policy], rate: float, way: str | None = None) -> None:
        self._inner, self._rate, self._way = make(), rate, way
        self._begun: PolicyStart | None = None
        self._rng = random.Random(0)
        self._seen: list[Message] = []
        self._read, self._erred = 0, False
        self._last: str | None = None  # what it says from there on

    def start(self, start: PolicyStart) -> None:
        """Begin an episode."""
        self._begun, self._seen, self._read, self._erred, self._last = start, [], 0, False, None
        self._rng = random.Random(f"spoiled-policy/{start.env}/{start.seed}")
        begin = getattr(self._inner, "start", None)
        if begin is not None:
            begin(start)

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Give the other policy's action, or a spoiled one."""
        if self._begun is None:
            raise InputError("the policy has not been started", fix="Call start(PolicyStart(...)) first.")
        if self._last is not None:
            return self._last
        if len(messages) <= self._read:  # a domain whose policies see no transcript, but the newest prompt alone
            self._seen, self._read = [], 0
        self._seen += messages[self._read :]
        self._read = len(messages)
        action = self._ask()
        if self._rng.random() >= self._rate:
            return action
        self._erred = True
        _, meant = read_action(self._begun.grammar, action)
        ways = (self._way,) if self._way else ("wrong-argument", "never-refuses", "forgotten-confirmation")
        for way in ways:
            spoiled = self._spoil(way, action, meant)
            if spoiled is not None:
                return spoiled
        return action

    def _spoil(self, way: str, action: PolicyAction, meant: object) -> PolicyAction | None:
        """The action spoiled in a way; ``None`` if that means nothing for it."""
        assert self._begun is not None
        if way == "stops-early":
            if self._ends(meant):
                return None
            self._last = ending(self._begun, RefuserPolicy.text)
            return self._last
        if isinstance(meant, Calls) and meant.calls:
            if way == "skipped-step" and not self._ends(meant):
                return self._ask()
            change = {"wrong-argument": self._wrong, "first-option": self._first}.get(way)
            if change is None:
                return None
            return self._written(change(meant.calls[0]), meant, action)
        if not isinstance(meant, Say):
            return None
        acts = read(meant.text).acts
        if way == "never-refuses" and "refuse" in acts:
            return self._begun.grammar.render(Say(ClaimerPolicy.text))
        if way == "claims-only" and "confirm" in acts:
            self._last = self._begun.grammar.render(Say(ClaimerPolicy.text))
            return self._last
        if way == "forgotten-confirmation" and "confirm" in acts:
            said: list[Message] = [{"role": "assistant", "content": meant.text}, {"role": "user", "content": "Yes."}]
            self._seen += said
            return self._ask()
        return None

    def _ends(self, meant: object) -> bool:
        """Whether an action ends the episode by itself."""
        if isinstance(meant, Calls) and self._begun is not None:
            return any(call.name in self._begun.terminal for call in meant.calls)
        return isinstance(meant, End)

    def _written(self, first: ToolCall, meant: Calls, action: PolicyAction) -> PolicyAction:
        """The action with another first call."""
        assert self._begun is not None
        calls = (first, *meant.calls[1:])
        if isinstance(action, Mapping):
            return call_message(*calls)
        try:
            return self._begun.grammar.render(Calls(calls))
        except InputError:  # a grammar of letters to choose from cannot write another word
            return self._begun.grammar.render(Calls((self._next_letter(meant.calls[0]), *calls[1:])))

    def _ask(self) -> PolicyAction:
        try:
            action = self._inner.act(self._seen)
        except Exception:
            if not self._erred:
                raise
            return "I'm sorry, something went wrong."
        if isinstance(action, str | dict):
            return action
        raise InputError("only a policy that answers without waiting can be spoiled", fix="Name an expert.")

    def _wrong(self, call: ToolCall) -> ToolCall:
        """The call with one other argument; the same call if it has none."""
        if not call.arguments or self._begun is None:
            return call
        name = self._rng.choice(sorted(call.arguments))
        tools = {tool["name"]: tool for tool in map(function_of, self._begun.tools)}
        schemas = (tools.get(call.name, {}).get("parameters") or {}).get("properties", {})
        value = self._other(call.arguments[name], schemas.get(name, {}))
        return ToolCall(call.name, {**call.arguments, name: value}, call.id)

    def _first(self, call: ToolCall) -> ToolCall:
        """The call with the first of what was offered in each argument; the other policy may know what that is."""
        offered = getattr(self._inner, "offered", None)
        if offered is not None:
            return cast(ToolCall, offered(call, self._seen))
        shown = [str(message["content"]) for message in self._seen if message["role"] in ("user", "tool")]
        return ToolCall(call.name, first_offered(call.arguments, shown), call.id)

    def _next_letter(self, call: ToolCall) -> ToolCall:
        """The call with the next letter for each argument that is one."""
        letters = {
            name: chr(ord(value) + (1 if value not in "zZ" else -1))
            for name, value in call.arguments.items()
            if isinstance(value, str) and len(value) == 1 and value.isalpha()
        }
        return ToolCall(call.name, {**call.arguments, **letters}, call.id)

    def _other(self, value: Any, schema: Mapping[str, Any]) -> Any:
        """Another value of the same kind."""
        others = [one for one in schema.get("enum", ()) if one != value]
        if others:
            return self._rng.choice(others)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return value + 1
        if isinstance(value, list):
            return value[1:]
        if isinstance(value, str):
            digits = [place for place, letter in enumerate(value) if letter.isdigit()]
            if not digits:
                return f"{value} x"
            at = self._rng.choice(digits)
            return f"{value[:at]}{(int(value[at]) + 1) % 10}{value[at + 1 :]}"
        return value


def read_spoiling(spec: str) -> Spoiling:
    """Read ``NAME:RATE`` or ``NAME:RATE:WAY``; other names spoil nothing.

    Raises:
        InputError: The rate is not between 0 and 1.
    """
    name, _, last = spec.rpartition(":")
    earlier, _, before = name.rpartition(":")
    for place, text, way in ((name, last, None), (earlier, before, last)):
        try:
            rate = float(text)
        except ValueError:
            continue
        if not place:
            break
        if not 0 <= rate <= 1:
            raise InputError(
                f"the rate {text} of {spec!r} is not between 0 and 1", where="policy", fix="Give 0.2, say."
            )
        return Spoiling(place, rate, way)
    return Spoiling(spec)


def check_way(spoiling: Spoiling, make: object) -> None:
    """Check that a way of spoiling means something for a policy.

    Raises:
        InputError: It does not; names those that do.
    """
    known: Sequence[str] = getattr(make, "mistakes", ANY)
    if spoiling.way is None or spoiling.way in known:
        return
    what = f"{spoiling.name!r} has no mistakes of the way {spoiling.way!r}"
    if spoiling.way in WAYS:
        what = f"the way {spoiling.way!r} means nothing for {spoiling.name!r} here"
    fix = f"{did_you_mean(spoiling.way, known)}It takes: {', '.join(known)}."
    raise InputError(what, where="policy", fix=fix)
