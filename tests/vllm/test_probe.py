"""What the probe says of a real server."""

from __future__ import annotations

import pytest

from simia_gym.errors import InputError
from simia_gym.llm.probe import preflight, probe
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.transport.http import close_connections

from .server import KEY, MODEL, VllmServer

SETTINGS = ModelSettings(model=MODEL, temperature=1.0, max_tokens=300, extra={"min_tokens": 4})


async def test_it_finds_what_the_server_can_do(server: VllmServer) -> None:
    found = {one.name: one for one in await probe(SETTINGS, Endpoint(server.base_url, KEY), "simulator")}
    await close_connections()
    assert {"answers", "model", "structured", "seeds", "latency"} <= set(found)
    assert {one.status for one in found.values()} == {"ok"}, found
    assert "JSON Schema" in found["structured"].text
    assert found["seeds"].text == "the same seed gives the same text"


@pytest.mark.parametrize(
    ("key", "path", "model", "says"),
    [
        ("a-wrong-key", "/v1", MODEL, "SIMIA_JUDGE_API_KEY"),
        (KEY, "/v2", MODEL, "/v1"),
        (KEY, "/v1", "another", "`another` does not exist"),
    ],
)
async def test_what_is_wrong_is_one_clear_line(server: VllmServer, key: str, path: str, model: str, says: str) -> None:
    endpoint = Endpoint(server.root + path, key)
    settings = ModelSettings(model=model)
    with pytest.raises(InputError) as caught:
        await preflight(settings, endpoint, "judge")
    (first,) = await probe(settings, endpoint, "judge")
    await close_connections()
    assert says in str(caught.value)
    assert (first.name, first.status) == ("answers", "error")
    assert says in first.text
    assert "\n" not in str(caught.value) + first.text
    assert key not in str(caught.value) + first.text


async def test_a_good_endpoint_passes_the_quick_look(server: VllmServer) -> None:
    await preflight(SETTINGS, Endpoint(server.base_url, KEY), "user")
    await close_connections()
