"""An episode as the steps that a page shows: who said what, what it changed, who answered, and what models wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simia_gym.record.records import Record
from simia_gym.state import State
from simia_gym.types import JsonObject
from simia_gym.viewer.changes import Change, changes_of, pretty
from simia_gym.viewer.times import in_seconds

MOST = 20_000
"""The longest text that a page shows whole, in characters."""


class Panel(NamedTuple):
    """A part of the state, shown as what it is.

    Attributes:
        title: What it is, such as the path of a file.
        html: A whole HTML document; no script of it runs, and it can load nothing.
    """

    title: str
    html: str


Panels = Callable[[State], Sequence[tuple[str, str]]]
"""A domain's own view of its state: titles and HTML documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply of a model, as it came.

    Attributes:
        event: Its event.
        role: Who was asked: ``simulator``, ``user``, ``judge``, or a role of the domain.
        purpose: What for: ``answer``, ``repair``, ...
        model: The model's name.
        text: What it wrote.
        fate: ``accepted``, ``rejected`` or ``unread``.
        reasons: Why it was rejected or not read.
        put_right: What of its form was put right.
        asked: Length and hash of what it was asked.
        tokens: Tokens in and out.
        waited: How long it took.
    """

    event: int
    role: str
    purpose: str
    model: str
    text: str
    fate: str
    reasons: tuple[str, ...] = ()
    put_right: tuple[str, ...] = ()
    asked: str = ""
    tokens: str = ""
    waited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One entry of the conversation.

    Attributes:
        event: The event that it shows.
        turn: The turn; ``None`` of what belongs to none.
        who: ``agent``, ``user``, ``tool``, ``error``, ``fault`` or ``end``.
        text: What was said.
        call: The name of the tool; empty if none was called.
        arguments: Its arguments, as JSON.
        brief: The same in one line.
        by: Who answered: ``world``, ``llm``, ``pin``, ...; empty where that is not written down.
        code: The error's code.
        waited: How long the agent took to act.
        said: Whether it is what the agent said, to which the same event holds the answer.
        changes: What changed in the state.
        inner: What changed in the tables of user and environment.
        replies: What models wrote until then, in order.
        panels: Parts of the state that look different now.
    """

    event: int
    turn: int | None
    who: str
    text: str
    call: str = ""
    arguments: str = ""
    brief: str = ""
    by: str = ""
    code: str = ""
    waited: str = ""
    said: bool = False
    changes: Sequence[Change] = ()
    inner: Sequence[Change] = ()
    replies: Sequence[Reply] = ()
    panels: Sequence[Panel] = ()


@dataclass(slots=True)
class Conversation:
    """All steps of an episode, and what was read on the way.

    Attributes:
        steps: The steps.
        judged: What models wrote when the episode was judged.
        notes: What could not be shown, and why.
        unit: What the steps are numbered by: ``event``, or ``message`` where only messages are known.
    """

    steps: list[Step] = field(default_factory=list)
    judged: list[Reply] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unit: str = "event"


def conversation(
    record: Record, panels: Panels | None = None, seconds: Mapping[int, float] | None = None
) -> Conversation:
    """The steps of a recorded episode.

    Args:
        record: The record.
        panels: The domain's own view of its state.
        seconds: How long replies and actions took, by their events.
    """
    return _Reading(record, panels, seconds or {}).read()


class _Reading:
    """One pass over the events of a record."""

    def __init__(self, record: Record, panels: Panels | None, seconds: Mapping[int, float]) -> None:
        self._events = record.events
        self._panels = panels
        self._shown: dict[str, str] = {}
        self._waiting: list[Reply] = []
        self._seconds, self._acted = seconds, ""
        self._out = Conversation()
        self._state = self._beginning(record)

    def _beginning(self, record: Record) -> State | None:
        if "content" not in record.start:
            return None
        state = State.from_tables(record.content("state")).apply(record.content("task").get("setup", ()))
        return state.apply([{"op": "add", "path": "/_episode/main", "value": {"seed": record.seed}}])

    def read(self) -> Conversation:
        for number, event in enumerate(self._events):
            take = getattr(self, f"_{event['type']}", None)
            if take is not None:
                take(number, event)
        self._out.judged = self._waiting
        return self._out

    def _say(self, number: int, event: JsonObject, who: str, text: str, **more: Any) -> None:
        waited, self._acted = self._acted, ""
        step = Step(event=number, turn=event.get("turn"), who=who, text=cut(text), waited=waited, **more)
        self._out.steps.append(step)

    def _message(self, number: int, event: JsonObject) -> None:
        self._say(number, event, event["speaker"], event["text"], **self._answered(event))

    def _action(self, number: int, event: JsonObject) -> None:
        answer = next(
            (each for each in self._events[number + 1 :] if each["type"] in ("transition", "invalid", "action")), {}
        )
        self._acted = in_seconds(self._seconds.get(number))
        spoken = event["text"] if answer.get("type") == "invalid" or not answer else event.get("beside", "")
        if spoken.strip():
            self._say(number, event, "agent", spoken)

    def _invalid(self, number: int, event: JsonObject) -> None:
        self._say(number, event, "error", event["text"], code=event["code"], **self._answered(event))

    def _transition(self, number: int, event: JsonObject) -> None:
        call = event["call"]
        if event["say"] is not None:
            self._say(number, event, "agent", event["say"], said=True)
        told: dict[str, Any] = {}
        if call is not None:
            told = called(call["name"], call["arguments"])
        who = "error" if event["outcome"] == "error" else event["speaker"]
        code = event["error_code"] or ""
        by = str(event["meta"].get("route", ""))
        self._say(number, event, who, event["observation"], code=code, by=by, **told, **self._answered(event))

    def _answer(self, number: int, event: JsonObject) -> None:
        self._say(number, event, "agent", event["text"], code="final answer")

    def _fault(self, number: int, event: JsonObject) -> None:
        self._say(
            number, event, "fault", f"{event['role']} ({event['kind']}): {event['message']}", **self._answered({})
        )

    def _end(self, number: int, event: JsonObject) -> None:
        self._say(number, event, "end", f"{event['reason']}{', truncated' if event['truncated'] else ''}")

    def _model(self, number: int, event: JsonObject) -> None:
        self._waiting.append(
            Reply(
                event=number,
                fate="accepted",
                waited=in_seconds(self._seconds.get(number)),
                put_right=tuple(event.get("read", ())),
                asked=f"{event['prompt_bytes']:,} bytes, {event['prompt']}",
                **_written(event),
            )
        )

    def _unread(self, number: int, event: JsonObject) -> None:
        self._waiting.append(Reply(event=number, fate="unread", reasons=(event["problem"],), **_written(event)))

    def _rejected(self, number: int, event: JsonObject) -> None:
        """The newest reply of the role is the one that broke rules."""
        for place in range(len(self._waiting) - 1, -1, -1):
            last = self._waiting[place]
            if last.role == event["role"] and last.fate == "accepted":
                fields = {name: getattr(last, name) for name in Reply.__slots__}
                self._waiting[place] = Reply(**{**fields, "fate": "rejected", "reasons": tuple(event["violations"])})
                return

    def _answered(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Changes, replies and panels that belong to an answer."""
        replies, self._waiting = tuple(self._waiting), []
        ops = [*event.get("reveals", ()), *(event.get("ops") or ())]
        if self._state is None:
            return {"replies": replies}
        revealed = len(event.get("reveals", ()))
        self._state, changes = changes_of(self._state, ops, revealed)
        inner = [change for change in changes if change.path.startswith("/_")]
        public = [change for change in changes if not change.path.startswith("/_")]
        panels = self._new_panels() if self._panels is not None and (changes or not self._shown) else ()
        return {"replies": replies, "changes": public, "inner": inner, "panels": panels}

    def _new_panels(self) -> list[Panel]:
        """The panels that look different now; if the domain's code fails, a note and no panels from then on."""
        if self._panels is None or self._state is None:
            return []
        try:
            panels = [Panel(str(title), str(html)) for title, html in self._panels(self._state)]
        except Exception as error:
            self._panels = None
            self._out.notes.append(f"the domain's own view failed: {type(error).__name__}: {error}")
            return []
        changed = [panel for panel in panels if self._shown.get(panel.title) != panel.html]
        self._shown = dict(panels)
        return changed


def _written(event: JsonObject) -> dict[str, Any]:
    usage = event["usage"]
    tokens = f"{usage.get('prompt', 0):,} in, {usage.get('completion', 0):,} out" if usage else ""
    told = {name: event[name] for name in ("role", "purpose", "model")}
    return {**told, "text": cut(event["reply"]), "tokens": tokens}


def called(name: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """What a step says of a call."""
    brief = ", ".join(f"{each}={pretty(value, flat=True)}" for each, value in arguments.items())
    return {"call": name, "arguments": cut(pretty(arguments)), "brief": brief[:200]}


def cut(text: str) -> str:
    """A text for a page; a very long one is cut, and says so."""
    more = len(text) - MOST
    return text if more <= 0 else f"{text[:MOST]}… {more:,} more characters; `simia show --json` prints all"
