"""Customers tell what is asked for and nothing else, to the expert's words and to everybody else's."""

from __future__ import annotations

import re

from simia_gym.common.event_loop import run_inline
from simia_gym.types import JsonObject, Task
from tests.retail.play import AGENTS, generated, suite
from tests.retail.test_user_cues import CUES


def _slots(task: Task) -> dict[str, set[str]]:
    """The private words of each slot that the customer can be asked for at first."""
    assert task.user is not None
    known = {**task.user["facts"], **task.user["requests"][0].get("slots", {})}
    return {name: {str(value).lower() for value in answer["values"]} for name, answer in known.items()}


def _first_reply(task: Task, text: str) -> tuple[str, str, JsonObject]:
    """The opening, the reply to the text, and what the record tells about the reply."""
    episode = suite().episode()
    start = run_inline(episode.reset(task))
    step = run_inline(episode.step(text))
    return start.observation.lower(), step.observation.lower(), episode.ledger.events[-1]["meta"]


def _says(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def test_nothing_is_told_unasked() -> None:
    for task in [*suite().tasks, *generated(20)]:
        known = _slots(task)
        asking = [texts[0] for texts in AGENTS["asks"].values()]
        for text in (*asking, *AGENTS["silent"], "Hello!", "One moment, please."):
            asked = set(CUES.hear(text).asks)
            opening, reply, _ = _first_reply(task, text)
            allowed = {value for slot in asked for value in known.get(slot, ())}
            for value in allowed:
                reply = reply.replace(value, "...")  # an email address holds the name
            for slot, values in known.items():
                for value in values - allowed:
                    assert _says(opening, value) or not _says(reply, value) or _said_of_itself(task, value), (
                        slot,
                        text,
                    )


def _said_of_itself(task: Task, value: str) -> bool:
    """Whether the wish itself names the value, so that stating the wish is no leak."""
    assert task.user is not None
    return any(_says(say.lower(), value) for say in task.user["requests"][0]["say"])


def test_opening_tells_no_secret() -> None:
    for task in [*suite().tasks, *generated(60)]:
        assert task.user is not None
        secrets = {str(v).lower() for fact in task.user["facts"].values() for v in fact["values"]}
        for opening in task.user["opening"]:
            assert not any(_says(opening.lower(), value) for value in secrets)


def test_wrong_details_are_turned_down() -> None:
    checked = set()
    for task in generated(120):
        assert task.user is not None
        request = task.user["requests"][0]
        kinds = ("cancel", "exchange", "modify_items", "return", "return_several", "modify_payment")
        if "change" in request or task.kind not in kinds:
            continue
        right = " ".join(f"{item['any'][0]}" for item in request["expect"])
        verb = {"modify_items": "change", "modify_payment": "change the payment of"}.get(task.kind, task.kind[:8])
        verb = "return" if task.kind.startswith("return") else verb
        meta = _first_reply(task, f"I will {verb} {right}. Shall I go ahead?")[-1]
        assert meta["acts"] == ["confirm"], (task.id, right)
        for wrong in request["expect"]:
            if not wrong.get("avoid"):
                continue
            others = " ".join(str(i["any"][0]) for i in request["expect"] if not set(i["any"]) & set(wrong["any"]))
            meta = _first_reply(task, f"I will {verb} {others} {wrong['avoid'][0]}. Shall I go ahead?")[-1]
            assert meta["acts"] == ["deny"], (task.id, others, wrong)
            assert wrong["slot"] in meta["slots"]
            checked.add(wrong["slot"])
    assert checked == {"reason", "variant", "payment", "items"}
