"""Client objects of the OpenAI SDK: whatever they were told is honoured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.llm.settings import Endpoint, resolve_endpoint

from ..model_server import ModelServer
from .server import FORM, SECRET, error, model, request, says


def plain(server: ModelServer, **changes: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(**{"base_url": server.url, "api_key": SECRET, **changes})


async def test_address_headers_query_and_key(server: ModelServer) -> None:
    client = plain(
        server, organization="org-1", project="proj-1", default_headers={"X-Mine": "yes"}, default_query={"q": "1"}
    )
    endpoint = resolve_endpoint("simulator", client=client)
    await model(endpoint).complete(request())
    asked = server.asked[0]
    assert asked.request.path_qs == f"{server.prefix}/v1/chat/completions?q=1"
    headers = asked.request.headers
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert [headers[name] for name in ("X-Mine", "OpenAI-Organization", "OpenAI-Project")] == ["yes", "org-1", "proj-1"]
    assert int(headers["Content-Length"]) == len(asked.text)
    assert (endpoint.url, endpoint.host) == (server.url, server.url.split("/")[2])


async def test_keys_that_change(server: ModelServer) -> None:
    keys = iter(["first-key", "second-key"])

    async def provider() -> str:
        return next(keys)

    one = model(Endpoint(client=plain(server, api_key=provider)))
    await one.complete(request())
    await one.complete(request())
    client = plain(server)
    other = model(Endpoint(client=client))
    await other.complete(request())
    client.api_key = "changed-key"
    await other.complete(request())
    sent = [asked.request.headers["Authorization"].removeprefix("Bearer ") for asked in server.asked]
    assert sent == ["first-key", "second-key", SECRET, "changed-key"]


@pytest.mark.parametrize("azure", [False, True])
async def test_keys_that_change_are_not_shown(server: ModelServer, azure: bool) -> None:
    async def provider() -> str:
        return "rotating-key-55"

    client = plain(server, api_key=provider)
    if azure:
        client = openai.AsyncAzureOpenAI(azure_endpoint=server.url, api_version="1", azure_ad_token_provider=provider)
    server.answers = [error(401, "rotating-key-55 is no key")]
    with pytest.raises(Fault) as caught:
        await model(Endpoint(client=client)).complete(request())
    assert server.asked[0].request.headers["Authorization"] == "Bearer rotating-key-55"
    assert "rotating-key-55" not in str(caught.value)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyError, ImportError])
async def test_a_provider_that_fails(server: ModelServer, error: type[Exception], own: bool) -> None:
    async def provider() -> str:
        raise error("no token today")

    async with httpx2.AsyncClient(transport=Transport()) as other:
        sends = other if own else None
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=server.url, api_version="1", azure_ad_token_provider=provider, http_client=sends
        )
        with pytest.raises(Fault, match=f"the client object cannot make a request: {error.__name__}") as caught:
            await model(Endpoint(client=client)).complete(request())
    assert (caught.value.kind, server.asked) == ("auth", [])
    assert ("no token today" in str(caught.value)) is not own  # where the object sends, the text may hold a key


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"api_key": SECRET}, "api-key", SECRET),
        ({"azure_ad_token": "token-of-mine"}, "Authorization", "Bearer token-of-mine"),
        ({"azure_ad_token_provider": lambda: "token-from-provider"}, "Authorization", "Bearer token-from-provider"),
    ],
)
@pytest.mark.parametrize("deployment", [None, "my-deployment"])
async def test_azure(
    server: ModelServer, auth: dict[str, Any], header: str, value: str, deployment: str | None
) -> None:
    root = server.url.removesuffix("/v1")
    client = openai.AsyncAzureOpenAI(azure_endpoint=root, azure_deployment=deployment, api_version="1", **auth)
    server.answers = [says('{"n": 1}')]
    reply = await model(Endpoint(client=client)).complete(request(FORM))
    assert reply.data == {"n": 1}
    place = f"{server.prefix}/openai/deployments/{deployment or 'm'}/chat/completions"
    assert server.asked[0].request.path_qs == f"{place}?api-version=1"
    assert server.asked[0].request.headers[header] == value


class Transport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["X-Transport"] = "mine"
        return await super().handle_async_request(request)


async def test_a_transport_of_its_own_is_used(server: ModelServer) -> None:
    async with httpx2.AsyncClient(transport=Transport()) as own:
        client = plain(server, http_client=own)
        server.answers = [error(429), error(500), says('{"n": 1}')]
        reply = await model(Endpoint(client=client)).complete(request(FORM, seed=4))
        assert reply.data == {"n": 1}
        assert [asked.request.headers["X-Transport"] for asked in server.asked] == ["mine"] * 3
        assert server.bodies[0]["seed"] == 4


async def test_a_class_of_its_own_is_used(server: ModelServer) -> None:
    class Mine(openai.AsyncOpenAI):
        @property
        def default_headers(self) -> dict[str, str | openai.Omit]:
            return {**super().default_headers, "X-Mine": "computed"}

    async with Mine(base_url=server.url, api_key=SECRET) as client:
        await model(Endpoint(client=client)).complete(request())
    assert server.asked[0].request.headers["X-Mine"] == "computed"


@pytest.mark.parametrize("make", [lambda: openai.OpenAI(api_key="x"), lambda: "client", object])
def test_other_objects_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match="AsyncOpenAI"):
        resolve_endpoint("judge", client=make())
