"""Compares two episodes of one task, step by step, as long as the policy does the same in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from sys import intern
from typing import Any, TypeAlias

from simia_gym.common.formatting import one_line
from simia_gym.common.json_encoding import decode, encode
from simia_gym.contracts import EPISODE
from simia_gym.domain.goal import Parts, changed_values
from simia_gym.domain.tools import masked
from simia_gym.errors import InputError, PatchError
from simia_gym.evaluation.comparing.comparison import Divergence, Kind, Pair, Played
from simia_gym.record.records import Record
from simia_gym.state import State, identical, strict_equal
from simia_gym.state.frozen import frozen_dict
from simia_gym.types import JsonObject, Op

FORCED = "forced"
"""Key of a transition's ``meta`` for an answer that was asked for in the state of the other side (open loop)."""

Prices: TypeAlias = Mapping[str, Mapping[str, float]]
"""USD per million tokens by role: ``price_in`` and ``price_out``."""

_SEEN = frozenset(("message", "transition", "invalid", "answer", "fault", "end"))
_PRICES = frozenset(("price_in", "price_out"))
_LONGEST = 100
_NOTHING: JsonObject = {"type": "", "i": -1, "turn": 0}


class Bases:
    """What many episodes share, decoded once: initial tables as a state, and the masks of the tools."""

    def __init__(self) -> None:
        self._state: tuple[str, State] | None = None
        self._masks: tuple[str, Mapping[str, tuple[str, ...]]] | None = None

    def state(self, record: Record) -> State:
        """The state in which an episode begins, before its opening."""
        name = record.start["content"]["state"]
        if self._state is None or self._state[0] != name:
            self._state = name, State.from_tables(record.content("state"))
        seeded = self._state[1].apply(record.content("task").get("setup", ()))
        return seeded.updated({EPISODE: {"main": (frozen_dict(({"seed": record.seed},)), False)}})

    def masks(self, record: Record, tool: str) -> tuple[str, ...]:
        """The regular expressions of what cannot be repeated in a tool's answers."""
        name = record.start["content"]["tools"]
        if self._masks is None or self._masks[0] != name:
            found = {}
            for entry in record.content("tools"):
                marks = entry.get("x-simia") or {}
                if marks.get("masks"):
                    found[entry.get("function", entry)["name"]] = tuple(marks["masks"])
            self._masks = name, found
        return self._masks[1].get(tool, ())


class _States:
    """The state of an episode as it goes on; it is computed only when somebody asks for it."""

    def __init__(self, record: Record, bases: Bases) -> None:
        self._record, self._bases = record, bases
        self._state: State | None = None
        self._pending: list[Op] = []

    def follow(self, event: Mapping[str, Any]) -> None:
        """Go on with what an event changes."""
        self._pending += event.get("reveals", ())
        self._pending += event["ops"] or ()

    def now(self) -> State:
        """The state after the events so far.

        Raises:
            InputError: The operations of the record do not fit its state.
        """
        try:
            state = self._bases.state(self._record) if self._state is None else self._state
            state = self._state = state.apply(self._pending)
        except PatchError as error:
            where = f"record of {self._record.task}"
            raise InputError(f"its state cannot be computed: {error}", where=where, fix="Play it again.") from error
        self._pending.clear()
        return state


def compare_episodes(
    left: Record, right: Record, bases: Bases, policy: str, prices: tuple[Prices, Prices] = ({}, {})
) -> tuple[Pair, list[tuple[str, bool]]]:
    """Compare two episodes.

    Args:
        left: The reference.
        right: The other one.
        bases: What the episodes of one domain share.
        policy: Name of the policy in the result.
        prices: The prices of the models of both sides.

    Returns:
        The pair, and the compared calls: the tool, and whether both observations are the same.

    Raises:
        InputError: The task has another content on the right side, or a record is damaged.
    """
    tasks = [one.start.get("content", {}).get("task") for one in (left, right)]
    if None not in tasks and tasks[0] != tasks[1]:
        what = f"task {left.task} has another content in each record"
        raise InputError(what, where="compare", fix="Play both sides with one version of the tasks.")
    return _Walk(left, right, bases, policy, prices).result()


class _Walk:
    """Goes through two episodes side by side."""

    def __init__(self, left: Record, right: Record, bases: Bases, policy: str, prices: tuple[Prices, Prices]) -> None:
        self.left, self.right, self.bases, self.policy, self.prices = left, right, bases, policy, prices
        self.calls: list[tuple[str, bool]] = []
        self.outcome = self.error_code = self.stateful = self.changes = 0
        self.missed = self.spurious = self.wrong = self.replies = self.same_replies = 0
        self.first: Divergence | None = None
        self.states = _States(left, bases), _States(right, bases)

    def result(self) -> tuple[Pair, list[tuple[str, bool]]]:
        left, right = self.left, self.right
        sides = ([event for event in one.events if event["type"] in _SEEN] for one in (left, right))
        for a, b in zip_longest(*sides, fillvalue=_NOTHING):
            if not self._step(a, b):
                break
        one_end, other_end = _end_of(left), _end_of(right)
        if self.first is None and left.valid and right.valid and not strict_equal(left.reward, right.reward):
            self._differ("reward", one_end, other_end, "", str(left.reward), str(right.reward))
        pair = Pair(
            policy=self.policy,
            task=intern(left.task),
            kind=intern(left.kind),
            member=left.member,
            left=_played(left, self.prices[0]),
            right=_played(right, self.prices[1]),
            calls=len(self.calls),
            observation=sum(same for _, same in self.calls),
            outcome=self.outcome,
            error_code=self.error_code,
            stateful=self.stateful,
            changes=self.changes,
            missed=self.missed,
            spurious=self.spurious,
            wrong=self.wrong,
            replies=self.replies,
            same_replies=self.same_replies,
            final_state=self._same_end(),
            divergence=self.first,
        )
        return pair, self.calls

    def _step(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
        """Compare two events; return whether the episodes can be compared after them."""
        kind, other = a["type"], b["type"]
        if kind != other:
            how: Kind = "fault" if "fault" in (kind, other) else "end" if "end" in (kind, other) else "action"
            self._differ(how, a, b, "", _words(a), _words(b))
            return False
        if kind == "transition":
            return self._transition(a, b)
        if kind == "message":
            if a["text"] != b["text"]:
                self._differ("reply", a, b, a["speaker"], a["text"], b["text"])
            for states, event in zip(self.states, (a, b), strict=True):
                states.follow(event)
        elif kind == "invalid":
            if (a["code"], a["text"]) != (b["code"], b["text"]):
                self._differ("invalid", a, b, "", a["text"], b["text"])
                return bool(a["code"] == b["code"])
        elif kind == "answer":
            if a["text"] != b["text"]:
                self._differ("action", a, b, "", a["text"], b["text"])
        elif kind == "end":
            if a["reason"] != b["reason"]:
                self._differ("end", a, b, "", a["reason"], b["reason"])
        elif (a["role"], a["kind"]) != (b["role"], b["kind"]):
            self._differ("fault", a, b, "", _words(a), _words(b))
        return True

    def _transition(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
        call, other = a["call"], b["call"]
        if (
            a["say"] != b["say"]
            or (call is None) != (other is None)
            or (
                call is not None
                and not (call["name"] == other["name"] and _same(call["arguments"], other["arguments"]))
            )
        ):
            self._differ("action", a, b, "", _words(a), _words(b))
            return False
        if call is None:
            same = a["observation"] == b["observation"]
            self.replies += 1
            self.same_replies += same
            if not same:
                self._differ("reply", a, b, a["speaker"], a["observation"], b["observation"])
        else:
            self._call(a, b, call["name"])
        for states, event in zip(self.states, (a, b), strict=True):
            states.follow(event)
        return True

    def _call(self, a: Mapping[str, Any], b: Mapping[str, Any], tool: str) -> None:
        answer = b["meta"].get(FORCED, b)
        masks: tuple[str, ...] | None = None
        seen = a["observation"], answer["observation"]
        same = seen[0] == seen[1]
        if not same:
            masks = self.bases.masks(self.left, tool)
            same = same_text(*(masked(text, masks) for text in seen))
        self.calls.append((tool, same))
        outcome, code = a["outcome"] == answer["outcome"], a["error_code"] == answer["error_code"]
        self.outcome += outcome
        self.error_code += code
        if not outcome:
            self._differ("outcome", a, b, tool, *seen)
        elif not code:
            self._differ("error_code", a, b, tool, str(a["error_code"]), str(answer["error_code"]))
        if a["ops"] is not None and answer["ops"] is not None:
            self._changes(a, b, answer, tool, masks)
        if not same:
            self._differ("observation", a, b, tool, *seen)

    def _changes(
        self,
        a: Mapping[str, Any],
        b: Mapping[str, Any],
        answer: Mapping[str, Any],
        tool: str,
        masks: tuple[str, ...] | None,
    ) -> None:
        self.stateful += 1
        if identical(a["ops"], answer["ops"]):
            self.changes += 1
            return
        masks = self.bases.masks(self.left, tool) if masks is None else masks
        true = _changed(self.states[0].now(), a, masks)
        said = _changed(self.states[1].now(), answer, masks)
        both = true.keys() & said.keys()
        wrong = any(not strict_equal(true[parts], said[parts]) for parts in both)
        missed, spurious = len(true) > len(both), len(said) > len(both)
        self.wrong += wrong
        self.missed += missed
        self.spurious += spurious
        if wrong or missed or spurious:
            self._differ("changes", a, b, tool, *(encode(event["ops"]).decode() for event in (a, answer)))
        else:
            self.changes += 1

    def _differ(self, kind: Kind, a: Mapping[str, Any], b: Mapping[str, Any], who: str, left: str, right: str) -> None:
        if self.first is None:
            turn = max(a.get("turn", 0), b.get("turn", 0))
            one, other = (one_line(text, _LONGEST) for text in from_difference(left, right))
            self.first = Divergence(turn, who, kind, one, other, a["i"], b["i"])

    def _same_end(self) -> bool | None:
        """Whether both final states are the same, but for private tables."""
        changing = []
        for record in (self.left, self.right):
            found = [event for event in record.events if "ops" in event]
            if not found or record.start.get("stateless") or any(event["ops"] is None for event in found):
                return None
            if any(FORCED in event["meta"] for event in found):
                return None
            changing.append([op for event in found for op in _public(event)])
        if identical(*changing):
            return True
        finals = []
        for record in (self.left, self.right):
            states = _States(record, self.bases)
            for event in record.events:
                if "ops" in event:
                    states.follow(event)
            finals.append(states.now())
        return not any(True for _ in changed_values(finals[0], finals[1]))


def _public(event: Mapping[str, Any]) -> Iterator[Op]:
    """The operations of an event that change no private table."""
    for op in (*event.get("reveals", ()), *event["ops"]):
        if not op["path"].startswith("/_") and op["op"] != "test":
            yield op


def _changed(before: State, event: Mapping[str, Any], masks: tuple[str, ...]) -> dict[Parts, Any]:
    """The values that an event changes, without private tables; rows that it reveals were there before."""
    try:
        before = before.apply(event.get("reveals", ()))
        after = before.apply(event["ops"])
    except PatchError as error:
        raise InputError(
            f"its operations do not fit the state: {error}", where="compare", fix="Play it again."
        ) from error
    return {tuple(masked(parts, masks)): masked(new, masks) for parts, _, new in changed_values(before, after)}


def _same(a: Any, b: Any) -> bool:
    return a == b and strict_equal(a, b)


def same_text(a: str, b: str) -> bool:
    """Whether two observations are the same, or the same JSON value."""
    if a == b:
        return True
    try:
        return strict_equal(decode(a), decode(b))
    except (ValueError, RecursionError):
        return False


def from_difference(left: str, right: str) -> tuple[str, str]:
    """Two texts from shortly before their first difference, if that is far from their beginning."""
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if at < _LONGEST // 2:
        return left, right
    return f"…{left[at - 20 :]}", f"…{right[at - 20 :]}"


def _words(event: Mapping[str, Any]) -> str:
    """What happened, in a few words."""
    if event["type"] == "transition":
        call = event["call"]
        return str(event["say"]) if call is None else f"{call['name']} {encode(call['arguments']).decode()}"
    if event["type"] == "fault":
        return f"{event['role']}:{event['kind']}: {event['message']}"
    return str(event.get("text") or event.get("reason") or "nothing")


def _end_of(record: Record) -> Mapping[str, Any]:
    return next((event for event in reversed(record.events) if event["type"] == "end"), _NOTHING)


def _played(record: Record, prices: Prices) -> Played:
    roles, repaired = set[str](record.start.get("models") or ()), 0
    tokens, cost = 0, 0.0
    for event in record.events:
        if event["type"] in ("model", "unread"):
            read, written = event["usage"].get("prompt", 0), event["usage"].get("completion", 0)
            tokens += read + written
            price = prices.get(event["role"], {})
            cost += (read * price.get("price_in", 0) + written * price.get("price_out", 0)) / 1e6
            roles.add(event["role"])
        repaired += event["type"] == "rejected"
    known = all(prices.get(role, {}).keys() >= _PRICES for role in roles)
    return Played(
        line=record.line,
        valid=record.valid,
        reward=record.reward,
        success=record.success,
        turns=record.turns,
        tokens=tokens if roles else None,
        cost=cost if roles and known else None,
        repaired=repaired,
    )
