"""What a client of such servers expects of this one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import openai
import pytest

from simia_gym.errors import InputError
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.oracle.answering import Oracle

from ..work import calls_in
from .asking import about, about_task, ask, data, fetch, human, ledger_prompt, retail, system

PROMPT = ledger_prompt(retail(), {}, "get_order_details", {"order_id": "#W1"})
MANIFEST = "grammar: tools\nmax_turns: 3\nreward: a:b\n"
FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


async def test_it_serves_on_the_running_loop() -> None:
    async with (
        OracleServer(OracleOptions(data_free=True)) as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="any") as client,
    ):
        done = await client.chat.completions.create(model="some-model", messages=PROMPT)  # type: ignore[arg-type]
        models = [model.id async for model in client.models.list()]
    assert done.model == "some-model"
    assert done.choices[0].finish_reason == "stop"
    assert json.loads(done.choices[0].message.content or "")["error_code"] == "not_found"
    assert models == ["oracle"]
    assert server.base_url.endswith("/v1")


async def test_azure_paths_and_keys_are_understood() -> None:
    async with OracleServer(OracleOptions(data_free=True, api_key="secret")) as server:
        address = server.base_url.removesuffix("/v1")
        async with openai.AsyncAzureOpenAI(
            azure_endpoint=address, api_key="secret", api_version="2024-06-01"
        ) as client:
            done = await client.chat.completions.create(model="deployed", messages=PROMPT)  # type: ignore[arg-type]
    assert done.choices[0].message.content


def test_usage_counts_the_prefix_that_came_before(blind: OracleServer) -> None:
    begun = system("word " * 2000)
    first = ask(blind, [begun, human("one")]).json["usage"]
    second = ask(blind, [begun, human("two")]).json["usage"]
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert 0.9 * second["prompt_tokens"] < second["prompt_tokens_details"]["cached_tokens"] <= second["prompt_tokens"]
    assert 2500 < first["prompt_tokens"] < 2600
    assert first["total_tokens"] == first["prompt_tokens"] + first["completion_tokens"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"api-key": "wrong"}])
def test_a_wrong_key_is_401(headers: dict[str, str]) -> None:
    with serve_in_thread(OracleOptions(data_free=True, api_key="right")) as server:
        body = {"model": "m", "messages": PROMPT}
        assert fetch(server, "POST", "/chat/completions", body, headers).status == 401
        assert fetch(server, "GET", "/models", headers=headers).status == 401
        right = fetch(server, "POST", "/chat/completions", body, {"Authorization": "Bearer right"})
        assert right.status == 200
        assert server.counts["refused"] == {"invalid_api_key": 2}


def test_another_model_is_404() -> None:
    with serve_in_thread(OracleOptions(data_free=True, model="m")) as server:
        assert ask(server, PROMPT).status == 200
        got = ask(server, PROMPT, model="other")
        assert fetch(server, "GET", "/models").json["data"][0]["id"] == "m"
    assert (got.status, got.json["error"]["code"]) == (404, "model_not_found")


def test_a_long_prompt_is_refused_as_servers_do() -> None:
    with serve_in_thread(OracleOptions(data_free=True, context_tokens=1000)) as server:
        assert ask(server, [human("short")]).status == 200
        got = ask(server, [human("word " * 1000)])
    assert (got.status, got.json["error"]["code"]) == (400, "context_length_exceeded")


@pytest.mark.parametrize(
    ("options", "form", "status"),
    [
        (OracleOptions(), FORM, 200),
        (OracleOptions(no_structured=True), FORM, 400),
        (OracleOptions(no_structured=True), {"type": "json_object"}, 400),
        (OracleOptions(no_structured=True), None, 200),
        (OracleOptions(no_json_schema=True), FORM, 400),
        (OracleOptions(no_json_schema=True), {"type": "json_object"}, 200),
    ],
)
def test_response_formats_can_be_refused(options: OracleOptions, form: Any, status: int) -> None:
    with serve_in_thread(options) as server:
        got = ask(server, [human("Hello?")], **({} if form is None else {"response_format": form}))
    assert got.status == status
    assert status == 200 or "response_format" in got.json["error"]["message"]


def test_a_prompt_for_no_part_gets_an_answer_that_the_seed_decides(blind: OracleServer) -> None:
    texts = [ask(blind, [human("Hello?")], seed=seed).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": ["x"]}}, "required": ["a", "b"]},
        {"type": "array", "items": {"type": "integer"}},
        {"type": ["number", "null"]},
    ],
)
def test_an_answer_for_no_part_has_the_form_that_is_asked_for(blind: OracleServer, schema: Any) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    reply = ask(blind, [human("Hello?")], response_format=form).reply
    jsonschema.validate(reply, schema)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"messages": []}', b'{"messages": [1]}', b'{"messages": "x"}', b"\xff"]
)
def test_a_body_that_is_no_request_is_400(blind: OracleServer, body: bytes) -> None:
    assert fetch(blind, "POST", "/chat/completions", body).status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/chat/completions", 405), ("GET", "/nothing", 404), ("POST", "/models", 404)],
)
def test_other_places_are_refused(blind: OracleServer, method: str, path: str, status: int) -> None:
    assert fetch(blind, method, path).status == status


def test_big_prompts_get_through(blind: OracleServer) -> None:
    assert ask(blind, [human("x" * 5_000_000)]).status == 200


def test_stats_tell_what_was_done() -> None:
    with serve_in_thread(OracleOptions(data_free=True)) as server:
        ask(server, PROMPT)
        ask(server, [human("Hello?")])
        told = fetch(server, "GET", "/stats").json
        assert told == server.counts
    assert told["requests"] == {"ledger": 1, "plain": 1}


def test_lognormal_latency_spreads_around_its_median() -> None:
    oracle = Oracle(OracleOptions(data_free=True, latency_ms=100, latency_sigma=0.5))
    delays = sorted(oracle.fate(str(number).encode()).delay for number in range(2001))
    assert 0.09 < delays[1000] < 0.11
    assert delays[0] < 0.03
    assert delays[-1] > 0.3


def test_a_port_that_is_taken_is_said_so() -> None:
    with serve_in_thread(OracleOptions(data_free=True)) as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with pytest.raises(InputError, match=str(port)), serve_in_thread(OracleOptions(data_free=True, port=port)):
            raise AssertionError("two servers on one port")


def test_without_aiohttp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(InputError, match="pip install aiohttp"):
        OracleServer(OracleOptions(data_free=True))


WORLD, TASK, CALL = about(retail()), about_task(retail(), retail().tasks["train"][0]), data("call", {"name": "x"})
HINT = {"id": "x", "kind": "goal", "question": "?", "facts": {"program": "guess"}}


@pytest.mark.parametrize(
    ("server", "parts", "last", "words"),
    [
        ("blind", [data("domain", {"name": "nowhere"})], [data("state", {}), data("call", {})], "nowhere"),
        ("blind", [data("domain", 3)], [data("state", {}), data("call", {})], "names no domain"),
        ("blind", [WORLD], [data("state", {}), data("call", [])], "no call"),
        ("blind", [WORLD], [data("state", {"tables": {"a": 1}}), CALL], "tables"),
        ("blind", [WORLD], [CALL], "address none"),
        ("blind", [], [data("state", {}), CALL], "'domain'"),
        ("blind", [WORLD, TASK], [CALL], "without data"),
        ("blind", [WORLD, TASK], [data("record", []), data("criterion", HINT)], "without data"),
        ("blind", [WORLD, TASK, data("customer", {"mood": "good"})], [data("begin", {})], "cannot be played"),
        (
            "blind",
            [WORLD, TASK, data("customer", {"type": "scripted", "requests": []})],
            [data("begin", {})],
            "cannot be played",
        ),
        ("oracle", [WORLD, data("task", {"id": "nothing"})], [CALL], "no task"),
        ("oracle", [WORLD, data("task", {"id": "retail-test-001", "digest": "0" * 16})], [CALL], "content"),
        ("oracle", [WORLD, data("task", 1)], [CALL], "names no task"),
        ("oracle", [WORLD, TASK], [data("record", []), data("criterion", HINT)], "guess"),
    ],
)
def test_a_prompt_that_makes_no_sense_is_refused_with_the_reason(
    server: str, parts: list[str], last: list[str], words: str, request: pytest.FixtureRequest
) -> None:
    got = ask(request.getfixturevalue(server), [system(*parts), human(*last)])
    assert got.status == 400
    assert words in got.json["error"]["message"]


def test_a_bug_in_a_world_is_no_server_error(tmp_path: Path) -> None:
    (tmp_path / "domain.yaml").write_text(f"name: broken\n{MANIFEST}world: world.py:Broken\n")
    (tmp_path / "world.py").write_text(
        "from simia_gym.domain.tools import tool\nfrom simia_gym.domain.world import World\n\n\nclass Broken(World):\n"
        '    @tool()\n    def look(self, db) -> str:\n        """Look."""\n'
        '        return db.row("things", "a")["name"]\n'
    )
    begun = system(data("domain", {"name": "broken", "version": 1, "options": {}}))
    with serve_in_thread(OracleOptions(domains=(tmp_path,), data_free=True)) as server:
        good, bad = (
            ask(server, [begun, human(data("state", {"tables": tables}), data("call", {"name": "look"}))])
            for tables in ({"things": {"a": {"name": "lamp"}}}, {})
        )
    assert good.reply["observation"] == "lamp"
    assert bad.status == 400
    assert "does not suffice" in bad.json["error"]["message"]


@pytest.mark.parametrize("own", [True, False])
def test_a_folder_goes_before_the_installed_domain_of_its_name(tmp_path: Path, own: bool) -> None:
    (tmp_path / "domain.yaml").write_text(f"name: retail\n{MANIFEST}")
    with serve_in_thread(OracleOptions(domains=(tmp_path,) if own else (), data_free=True)) as server:
        got = ask(server, PROMPT)
    assert got.status == (400 if own else 200)
    assert not own or "has no world" in got.json["error"]["message"]


def test_an_answer_takes_few_steps() -> None:
    oracle = Oracle(OracleOptions(data_free=True))
    domain = retail()
    order = next(domain.base.keys("orders"))
    rows = {"orders": {order: domain.base.get("orders", order)}}
    prompt = ledger_prompt(domain, rows, "get_order_details", {"order_id": order})
    prompt[0]["content"] += f"\n{domain.policy}\n{json.dumps(domain.tool_entries)}"
    body = json.dumps({"model": "m", "messages": prompt}).encode()
    oracle.answer(body, oracle.fate(body).chance)
    assert calls_in(oracle.answer, body, oracle.fate(body).chance)[0] < 1000
