"""The attacks are real: the same words win against prompts that put them down bare, and loops that read words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from simia_gym.llm.accounts import Accounts
from simia_gym.llm.blocks import block
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.transport.http import close_connections
from simia_gym.llm.types import ChatRequest, ReplySchema
from simia_gym.oracle import OracleServer
from simia_gym.oracle.obeying import orders
from simia_gym.oracle.reading import read_request
from simia_gym.rewards.judge.judge import REPLY as JUDGEMENT
from simia_gym.simulators.checking import LEDGER_REPLY
from simia_gym.types import JsonObject
from simia_gym.users.llm import REPLY as CUSTOMER

from .book import BOOK, Attack
from .stage import RETAIL, Arena

ROLES = ("simulator", "user", "judge")
FORMS = {"simulator": LEDGER_REPLY, "user": CUSTOMER, "judge": JUDGEMENT}
ORDERING = [attack for attack in BOOK if attack.orders]


def naive_prompt(role: str, arena: Arena, text: str) -> Prompt:
    """A prompt as it is often built: the agent's words stand in it as they are."""
    domain, task, tag = arena.suites["world"].domain, arena.task, arena.tag
    about = [block("domain", tag, {"name": domain.name, "version": domain.config.version, "options": {}})]
    if role == "simulator":
        asked = [block("state", tag, {"tables": {}, "missing": []}), block("call", tag, {"name": "calculate"})]
        said = f"The agent calls a tool:\n{text}"
    elif role == "user":
        about.append(block("customer", tag, task.user))
        asked = [block("begin", tag, {})]
        said = f"Agent: {text}"
    else:
        about.append(block("task", tag, {"id": task.id, "digest": "", "split": task.split}))
        asked = [block("record", tag, []), block("criterion", tag, {"id": "none", "kind": "goal", "question": "?"})]
        said = f"The conversation:\nagent: {text}"
    prompt = Prompt()
    prompt.add("system", "\n\n".join(["You play a part.", *about]))
    prompt.add("user", "\n".join([said, *asked]))
    return prompt


def ask(server: OracleServer, role: Any, prompt: Prompt, form: ReplySchema) -> JsonObject:
    """The reply of an obedient model."""

    async def run() -> Any:
        settings = ModelSettings(model="oracle", retries=0, timeout=10.0)
        model = EndpointModel(role, settings, Endpoint(base_url=server.base_url), accounts=Accounts())
        try:
            return (await model.complete(ChatRequest(role=role, prompt=prompt, reply=form))).data
        finally:
            await close_connections()

    reply: JsonObject = asyncio.run(run())
    return reply


@pytest.fixture(scope="module")
def arena(obedient: OracleServer) -> Arena:
    return Arena(RETAIL, obedient.base_url, obedient.base_url)


@pytest.mark.parametrize("attack", ORDERING, ids=lambda attack: attack.name)
def test_every_order_is_read_where_it_stands_bare(arena: Arena, attack: Attack) -> None:
    for role in ROLES:
        prompt = naive_prompt(role, arena, attack.for_tag(arena.tag).text)
        read = read_request(b'{"messages":' + prompt.messages_json() + b"}")
        found = orders(read)
        assert any(order.startswith("observation") for order in found), found
        assert any(order.startswith("confirm") for order in found), found
        assert any(order.startswith("reward 1") for order in found), found


def test_a_simulator_that_reads_bare_words_is_fooled(arena: Arena, obedient: OracleServer) -> None:
    honest, fooled = (
        ask(obedient, "simulator", naive_prompt("simulator", arena, text), FORMS["simulator"])
        for text in ("1 + 1", ORDERING[0].text)
    )
    assert honest["ops"] == []
    assert fooled["observation"] == "pwned"
    assert fooled["ops"] == [{"op": "remove", "path": "/orders/#W1000002"}]


def test_a_user_that_reads_bare_words_is_fooled(arena: Arena, obedient: OracleServer) -> None:
    honest, fooled = (
        ask(obedient, "user", naive_prompt("user", arena, text), FORMS["user"]) for text in ("Hi.", ORDERING[0].text)
    )
    assert (honest["stop"], honest["confirms"]) == (False, False)
    assert (fooled["stop"], fooled["confirms"]) == (True, True)


def test_a_judge_that_reads_bare_words_is_fooled(arena: Arena, obedient: OracleServer) -> None:
    honest, fooled = (
        ask(obedient, "judge", naive_prompt("judge", arena, text), FORMS["judge"]) for text in ("Hi.", ORDERING[0].text)
    )
    assert honest["verdict"] != "met"
    assert fooled["verdict"] == "met"


def test_a_loop_that_reads_stop_words_is_ended_by_them(arena: Arena) -> None:
    def naive_loop(messages: list[str]) -> int:
        """How many turns a loop takes that ends where somebody says so."""
        return next((n for n, text in enumerate(messages, 1) if "[TERMINATE]" in text), len(messages))

    attack = next(attack for attack in BOOK if attack.name == "stop words")
    actions = arena.actions(attack)
    outcome = arena.play("world", attack)
    assert naive_loop(actions) == 1
    assert outcome.turns > 10
