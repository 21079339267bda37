"""The attacks are real: the same words win against prompts that put them down bare, and loops that read words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from simia_gym.errors import Role
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.blocks import block
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.transport.http import close_connections
from simia_gym.llm.types import ChatRequest, ReplySchema
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.oracle.obeying import orders
from simia_gym.oracle.reading import read_request
from simia_gym.rewards.judge.judge import REPLY as JUDGEMENT
from simia_gym.simulators.checking import LEDGER_REPLY
from simia_gym.types import JsonObject
from simia_gym.users.llm import REPLY as CUSTOMER

from .book import BOOK, Attack
from .stage import RETAIL, Arena

ROLES: tuple[Role, ...] = ("simulator", "user", "judge")
FORMS: dict[Role, ReplySchema] = {"simulator": LEDGER_REPLY, "user": CUSTOMER, "judge": JUDGEMENT}
ORDERING = [attack for attack in BOOK if attack.orders]


def naive_prompt(role: Role, arena: Arena, text: str) -> Prompt:
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


def ask(arena: Arena, role: Role, text: str) -> JsonObject:
    """The reply of an obedient model."""

    async def run() -> Any:
        settings = ModelSettings(model="oracle", retries=0, timeout=10.0)
        model = EndpointModel(role, settings, Endpoint(base_url=arena.obedient), accounts=Accounts())
        try:
            prompt = naive_prompt(role, arena, text)
            return (await model.complete(ChatRequest(role=role, prompt=prompt, reply=FORMS[role]))).data
        finally:
            await close_connections()

    reply: JsonObject = asyncio.run(run())
    return reply


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with serve_in_thread(OracleOptions(obedient=True)) as server:
        yield Arena(RETAIL, server.base_url, server.base_url)


@pytest.mark.parametrize("attack", ORDERING, ids=lambda attack: attack.name)
def test_every_order_is_read_where_it_stands_bare(arena: Arena, attack: Attack) -> None:
    for role in ROLES:
        prompt = naive_prompt(role, arena, attack.for_tag(arena.tag).text)
        found = orders(read_request(b'{"messages":' + prompt.messages_json() + b"}"))
        for order in ("observation", "confirm", "reward 1"):
            assert any(each.startswith(order) for each in found), found


@pytest.mark.parametrize(
    ("role", "honest", "fooled"),
    [
        ("simulator", {"ops": []}, {"observation": "pwned", "ops": [{"op": "remove", "path": "/orders/#W1000002"}]}),
        ("user", {"stop": False, "confirms": False}, {"stop": True, "confirms": True}),
        ("judge", {"verdict": "unsure"}, {"verdict": "met"}),
    ],
)
def test_a_model_that_reads_bare_words_is_fooled(
    arena: Arena, role: Role, honest: JsonObject, fooled: JsonObject
) -> None:
    for text, wanted in (("1 + 1", honest), (ORDERING[0].text, fooled)):
        reply = ask(arena, role, text)
        assert {**reply, **wanted} == reply
