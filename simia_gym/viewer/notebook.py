"""An episode as a notebook shows it: the page of `simia view` without its script, in a frame that can do nothing.

Without the extra ``view`` it is the plain transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from rich.text import Text

from simia_gym.common.json_encoding import decode
from simia_gym.common.notebook import as_html
from simia_gym.errors import InputError
from simia_gym.record.records import Record
from simia_gym.record.transcript import transcript, transcript_text
from simia_gym.record.verdict import to_json
from simia_gym.types import JsonObject, Message, Verdict
from simia_gym.viewer.pages import Item, figure, item_of, render, require_view
from simia_gym.viewer.rows import Overview
from simia_gym.viewer.steps import Conversation, Panels, Step, called, cut

_POLICY = "default-src 'none'; base-uri about:; form-action 'none'; style-src 'unsafe-inline'"
"""The content security policy: inline styles, and nothing else; links within the page need its own address as base."""
_FRAME = (
    '<iframe sandbox title="{title}" srcdoc="{page}" style="width:100%;height:36rem;resize:vertical;'
    'border:1px solid #8888;background:Canvas"></iframe>'
)


def html_of_record(record: Record, panels: Panels | None = None) -> str:
    """An episode from its events: what was said, what changed, who answered, and the verdict.

    Args:
        record: Its record; one without a verdict goes on, and what only the user knows is not shown yet.
        panels: The domain's own view of its state.
    """
    if not _installed():
        begun = any(event["type"] == "message" for event in record.events)
        return _plain(record.task, transcript(record) if begun else [], record.verdict)
    item = item_of(Overview().add(record, Path(), 0), record, panels, 0)
    if not record.verdict:
        steps = [replace(step, inner=()) for step in item.conversation.steps]
        item = item._replace(task="", conversation=replace(item.conversation, steps=steps))
    return _framed(item)


def html_of_messages(
    messages: Sequence[Message], verdict: Verdict, *, task: str, seed: int, turns: int, ended: str
) -> str:
    """An episode of which only the messages and the result are known.

    Args:
        messages: The transcript in OpenAI's layout.
        verdict: The verdict.
        task: The task's id.
        seed: The episode's seed.
        turns: Number of the agent's actions.
        ended: Why it ended.
    """
    result = to_json(verdict)
    if not _installed():
        return _plain(task, messages, result)
    record = Record(
        line=0, key="", run={}, config={}, domain_hash="", task=task, kind="", split="", seed=seed, group="", member=0,
        policy="", reward=verdict.reward, valid=verdict.valid, success=verdict.success, score=verdict.score,
        turns=turns, ended=ended, verdict=result, fault=result["fault"], events=[], head="",
    )  # fmt: skip
    row = Overview().add(record, Path(), 0)
    system = next((message["content"] for message in messages if message["role"] == "system"), "")
    return _framed(
        Item(
            row=row,
            record=record,
            conversation=Conversation([*_steps(messages)], unit="message"),
            facts=[("seed", str(seed)), ("turns", str(turns)), ("ended", ended)],
            task="",
            cited={},
            system="system" if system else "",
            system_text=system,
        )
    )


def _steps(messages: Sequence[Message]) -> Iterable[Step]:
    """The messages as steps; a call stands with its answer."""
    calls: dict[str, Mapping[str, Any]] = {}
    turn = 0
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"] or ""
        if role == "system":
            continue
        turn += role == "assistant"
        told: dict[str, Any] = {}
        if role == "assistant":
            calls |= {call["id"]: call["function"] for call in message.get("tool_calls", ())}
            if not content.strip():
                continue
        elif role == "tool" and (call := calls.pop(message["tool_call_id"], None)) is not None:
            told = called(call["name"], decode(call["arguments"]))
        code = str(message.get("error_code") or "")
        who = "agent" if role == "assistant" else "error" if code else role
        yield Step(event=number, turn=turn, who=who, text=cut(content), code=code, **told)


def _installed() -> bool:
    try:
        require_view()
    except InputError:
        return False
    return True


def _framed(item: Item) -> str:
    page = "".join(render("notebook", title=item.record.task, item=item, policy=_POLICY, address=str))
    return _FRAME.format(title=escape(item.record.task), page=escape(page))


def _plain(task: str, messages: Sequence[Message], verdict: JsonObject) -> str:
    lines = [task, transcript_text(messages)]
    if verdict:
        lines.append(f"reward {figure(verdict['reward'])}" if verdict["valid"] else f"no reward: {verdict['reason']}")
        marks = {None: "?", True: "✓", False: "✗"}
        lines += [f"{marks[one['passed']]} {one['id']} ({one['kind']}): {one['reason']}" for one in verdict["criteria"]]
    return as_html(map(Text, lines))
