"""A policy that makes mistakes at a rate: graded behaviour from an expert, such as ``expert:0.2``."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simia_gym.actions.calls import call_message, read_action
from simia_gym.actions.signatures import function_of
from simia_gym.errors import InputError
from simia_gym.language import read
from simia_gym.policies.base import Policy, PolicyStart
from simia_gym.policies.built_in import ClaimerPolicy
from simia_gym.types import Calls, Message, PolicyAction, Say, ToolCall


class SpoiledPolicy:
    """Plays like another policy, but spoils a share of its actions, drawn with the episode's seed.

    A spoiled call has one wrong argument. A spoiled refusal says that it is done. A spoiled question for a yes is not
    asked: the policy goes on as if the answer had been yes. Other messages are never spoiled. Where a mistake has led
    the other policy to an exception, it apologises.

    Args:
        make: Makes the other policy, which must answer without waiting, as an expert does.
        rate: The share, from 0 to 1.
    """

    def __init__(self, make: Callable[[], Policy], rate: float) -> None:
        self._inner, self._rate = make(), rate
        self._begun: PolicyStart | None = None
        self._rng = random.Random(0)
        self._seen: list[Message] = []
        self._read, self._erred = 0, False

    def start(self, start: PolicyStart) -> None:
        """Begin an episode."""
        self._begun, self._seen, self._read, self._erred = start, [], 0, False
        self._rng = random.Random(f"spoiled-policy/{start.env}/{start.seed}")
        begin = getattr(self._inner, "start", None)
        if begin is not None:
            begin(start)

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Give the other policy's action, or a spoiled one."""
        if self._begun is None:
            raise InputError("the policy has not been started", fix="Call start(PolicyStart(...)) first.")
        self._seen += messages[self._read :]
        self._read = len(messages)
        action = self._ask()
        if self._rng.random() >= self._rate:
            return action
        self._erred = True
        grammar = self._begun.grammar
        _, meant = read_action(grammar, action)
        if isinstance(meant, Calls) and meant.calls:
            first, *rest = meant.calls
            calls = (self._wrong(first), *rest)
            return call_message(*calls) if isinstance(action, Mapping) else grammar.render(Calls(calls))
        if isinstance(meant, Say) and "refuse" in read(meant.text).acts:
            return grammar.render(Say(ClaimerPolicy.text))
        if isinstance(meant, Say) and "confirm" in read(meant.text).acts:
            said: list[Message] = [{"role": "assistant", "content": meant.text}, {"role": "user", "content": "Yes."}]
            self._seen += said
            return self._ask()
        return action

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


def split_rate(spec: str) -> tuple[str, float | None]:
    """The policy's name and the rate of ``NAME:RATE``; other names have no rate.

    Raises:
        InputError: The rate is not between 0 and 1.
    """
    name, colon, text = spec.rpartition(":")
    try:
        rate = float(text)
    except ValueError:
        return spec, None
    if not colon or not name:
        return spec, None
    if not 0 <= rate <= 1:
        raise InputError(f"the rate {text} of {spec!r} is not between 0 and 1", where="policy", fix="Give 0.2, say.")
    return name, rate
