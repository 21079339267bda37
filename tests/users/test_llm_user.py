"""The customer that a model plays, over real HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from simia_gym.contracts import PreparedTask, StepContext
from simia_gym.domain.domain import Domain
from simia_gym.errors import Fault, InputError
from simia_gym.llm.blocks import read_blocks
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, Transition
from simia_gym.users import make_user
from simia_gym.users.llm import LEAST_HEARD, MAX_HEARD, MAX_MESSAGE, MOST_HEARD, LLMUser
from simia_gym.users.told import told

from ..model_server import Asked, serving
from ..retail.play import suite
from .stage import script

DOMAIN = suite().domain


def says(message: str = "Hello.", *, stop: bool = False, confirms: bool = False) -> JsonObject:
    return {"message": message, "stop": stop, "confirms": confirms}


def task(user: Any = None, name: str = "t") -> Task:
    return Task(id=name, split="test", kind="k", user=script() if user is None else user)


class Talk:
    """One conversation after another with a customer."""

    def __init__(self, model: EndpointModel, domain: Domain = DOMAIN) -> None:
        self.user = LLMUser(domain, model)
        self.task, self.seed, self.turn = task(), 0, 0
        self.state, self.ledger = State.from_tables({"orders": {}}), Ledger()

    def context(self) -> StepContext:
        prepared = PreparedTask(self.task, self.state, (f"digest-{self.task.id}", b""))
        return StepContext(prepared, self.state, self.ledger, self.seed, self.turn)

    async def begin(self, task: Task | None = None, seed: int = 0) -> Transition:
        self.task, self.seed, self.turn = task or self.task, seed, 0
        self.ledger = Ledger()
        self.user.begin(self.context())
        return await self.user.open(self.context())

    async def say(self, text: str) -> Transition:
        self.turn += 1
        return await self.user.reply(text, self.context())


async def test_a_conversation() -> None:
    lines = iter([says("Hi."), says("B12."), says("Yes, do.", confirms=True), says("", stop=True)])
    async with serving(lambda asked: next(lines)) as server:
        talk = Talk(server.model("user"))
        first = await talk.begin()
        second, third, last = [await talk.say(text) for text in ("Which seat?", "B12, shall I?", "Done.")]
    assert [t.observation for t in (first, second, third, last)] == ["Hi.", "B12.", "Yes, do.", ""]
    assert [t.meta["acts"] for t in (first, second, third, last)] == [["open"], [], ["confirm"], ["leave"]]
    assert [t.end for t in (first, second, third, last)] == [None, None, None, "user_stop"]
    assert all((t.speaker, t.ops, t.reveals, t.outcome) == ("user", (), (), "ok") for t in (first, last))
    assert all("slots" not in t.meta for t in (first, second))
    events = [event for event in talk.ledger.events if event["type"] == "model"]
    assert [(e["role"], e["purpose"], e["ordinal"], e["turn"]) for e in events] == [
        ("user", "answer", number, number) for number in range(4)
    ]
    assert json.loads(events[2]["reply"])["confirms"] is True


async def test_it_sees_its_part_and_the_words_that_were_delivered() -> None:
    async with serving(lambda asked: says()) as server:
        talk = Talk(server.model("user"))
        await talk.begin()
        talk.ledger.append("action", turn=1, text="<think>my plan</think>a tool call")
        talk.ledger.append("transition", turn=1, observation="what a tool answered")
        await talk.say("Which seat?")
    first, second = server.asked
    assert [item.kind for item in first.blocks] == ["domain", "task", "customer", "begin"]
    assert first.value("customer") == told(script(), "t")
    assert first.value("task") == {"id": "t", "digest": "digest-t", "split": "test"}
    assert first.value("domain")["name"] == "retail"
    assert second.value("agent") == {"text": "Which seat?"}
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "user"]
    assert next(read_blocks(second.contents[2])).value == says()
    everything = json.dumps(second.body)
    assert "my plan" not in everything
    assert "what a tool answered" not in everything
    assert DOMAIN.policy.strip()[:80] not in "".join(second.contents)


async def test_the_prompt_only_grows_its_beginning_is_the_tasks_and_the_seed_gives_variety() -> None:
    async with serving(lambda asked: says(f"Line {len(asked.messages)}.")) as server:
        talk = Talk(server.model("user"))
        for seed in (1, 2, 1):
            await talk.begin(seed=seed)
            for text in ("One?", "Two?", "Three?"):
                await talk.say(text)
        await talk.begin(task(name="other"), seed=1)
        static = [event["static_bytes"] for event in talk.ledger.events]
    prompts = [json.dumps(asked.body["messages"]).rstrip("]") for asked in server.asked]
    assert all(prompts[i + 1].startswith(prompts[i]) for i in (0, 1, 2, 4, 5, 6))
    assert prompts[0] == prompts[4]
    systems = [asked.contents[0] for asked in server.asked]
    assert len(set(systems[:12])) == 1
    assert systems[12] != systems[0]
    encoded = json.dumps(server.asked[12].messages[0], separators=(",", ":"), ensure_ascii=False).encode()
    assert len(encoded) == static[0]
    seeds = [asked.body["seed"] for asked in server.asked]
    assert seeds[:4] == seeds[8:12]
    assert len(set(seeds[:8])) == 8
    assert all(0 <= seed < 2**31 for seed in seeds)


# ---- what cannot be used

TOO_LONG = says("x" * (MAX_MESSAGE + 1))


@pytest.mark.parametrize("bad", [says(""), says(" \n"), says("", confirms=True)])
async def test_a_reply_that_cannot_be_used_is_asked_for_once_more(bad: JsonObject) -> None:
    def answer(asked: Asked) -> JsonObject:
        if asked.has("violations"):
            return says("Better.")
        return bad if len(asked.messages) == 4 else says("Fine.")

    async with serving(answer) as server:
        talk = Talk(server.model("user"))
        await talk.begin()
        assert (await talk.say("Which seat?")).observation == "Better."
        await talk.say("And?")
    repair, following = server.asked[2:]
    (problem,) = repair.value("violations")
    assert "message" in problem
    assert next(read_blocks(repair.contents[-2])).value == {**bad, "message": bad["message"].strip()}
    assert repair.body["seed"] != server.asked[1].body["seed"]
    assert not following.has("violations")
    assert next(read_blocks(following.contents[4])).value == says("Better.")
    purposes = [(e["purpose"], e["ordinal"]) for e in talk.ledger.events if e["type"] == "model"]
    assert purposes == [("answer", 0), ("answer", 1), ("repair", 2), ("answer", 3)]


@pytest.mark.parametrize(
    ("answer", "kind", "requests"),
    [
        (says(""), "invalid_reply", 2),
        (TOO_LONG, "bad_reply", 1),
        (says("Bye.", stop=True), "bad_reply", 1),
        (401, "auth", 1),
        (500, "server_error", None),
    ],
)
async def test_what_cannot_be_had_is_the_users_fault(answer: JsonObject | int, kind: str, requests: int | None) -> None:
    async with serving(lambda asked: answer) as server:
        with pytest.raises(Fault) as caught:
            await Talk(server.model("user")).begin()
    assert (caught.value.kind, caught.value.role) == (kind, "user")
    assert requests in (None, len(server.asked))


@pytest.mark.parametrize("user", [None, {}])
async def test_a_task_without_a_customer_is_refused(user: JsonObject | None) -> None:
    async with serving(lambda asked: says()) as server:
        talk = Talk(server.model("user"))
        talk.task = Task(id="t9", split="test", kind="k", user=user)
        with pytest.raises(InputError, match=r"t9.*customer"):
            talk.user.begin(talk.context())


def test_it_is_not_made_from_cues() -> None:
    with pytest.raises(InputError, match="needs a model"):
        make_user("llm", {})


async def test_a_domains_own_instructions(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "domain.yaml").touch()
    (tmp_path / "prompts" / "user.md").write_text("Be a pirate, in {{most}} characters.", encoding="utf-8")
    async with serving(lambda asked: says()) as server:
        await Talk(server.model("user"), replace(DOMAIN, folder=tmp_path)).begin()
    assert server.asked[0].contents[0].startswith(f"Be a pirate, in {MAX_MESSAGE} characters.")


async def test_floods_are_heard_in_part_and_do_not_add_up() -> None:
    numbers = count()
    async with serving(lambda asked: says(f"I want to book seat {next(numbers)}.")) as server:
        talk = Talk(server.model("user"))
        for _ in range(2):
            await talk.begin()
            for _ in range(12):
                await talk.say("first " + "x" * 49_989 + " last")
            words = [item.value for item in server.asked[-1].blocks if item.kind == "agent"]
            sizes = [len(value["text"]) + len(value["end"]) for value in words]
            assert sizes == [MAX_HEARD] * (MOST_HEARD // MAX_HEARD) + [LEAST_HEARD] * (12 - MOST_HEARD // MAX_HEARD)
            assert all(value["text"].startswith("first ") and value["end"].endswith(" last") for value in words)
            assert words[0]["left_out"] == 50_000 - MAX_HEARD
