"""Client objects of the OpenAI SDK: whatever they were told is honoured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.llm.settings import Endpoint, resolve_endpoint

from .server import FORM, SECRET, ChatServer, drips, error, model, raw, request, resets, says

AZURE = "/openai/deployments"


def plain(server: ChatServer, **changes: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(**{"base_url": server.url, "api_key": SECRET, **changes})


async def test_address_headers_query_and_key(server: ChatServer) -> None:
    client = plain(
        server,
        organization="org-1",
        project="proj-1",
        default_headers={"X-Mine": "yes"},
        default_query={"q": "1"},
    )
    endpoint = resolve_endpoint("simulator", client=client)
    await model(server, endpoint).complete(request())
    assert server.paths == ["/v1/chat/completions?q=1"]
    headers = server.headers[0]
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert headers["X-Mine"] == "yes"
    assert (headers["OpenAI-Organization"], headers["OpenAI-Project"]) == ("org-1", "proj-1")
    assert int(headers["Content-Length"]) == len(server.texts[0])
    assert (endpoint.url, endpoint.host) == (server.url, server.url.split("/")[2])


async def test_keys_that_change(server: ChatServer) -> None:
    keys = iter(["first-key", "second-key"])

    async def provider() -> str:
        return next(keys)

    one = model(server, Endpoint(client=plain(server, api_key=provider)))
    await one.complete(request())
    await one.complete(request())
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer first-key", "Bearer second-key"]
    client = plain(server)
    other = model(server, Endpoint(client=client))
    await other.complete(request())
    client.api_key = "changed-key"
    await other.complete(request())
    assert [headers["Authorization"] for headers in server.headers[2:]] == [f"Bearer {SECRET}", "Bearer changed-key"]


@pytest.mark.parametrize("azure", [False, True])
async def test_keys_that_change_are_not_shown(server: ChatServer, azure: bool) -> None:
    async def provider() -> str:
        return "rotating-key-55"

    client = plain(server, api_key=provider)
    if azure:
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=server.url, api_version="2024-10-21", azure_ad_token_provider=provider
        )
    server.answers = [error(401, "rotating-key-55 is no key")]
    with pytest.raises(Fault) as caught:
        await model(server, Endpoint(client=client)).complete(request())
    assert server.headers[0]["Authorization"] == "Bearer rotating-key-55"
    assert "rotating-key-55" not in str(caught.value)


async def test_a_provider_that_fails(server: ChatServer) -> None:
    async def provider() -> str:
        raise RuntimeError("no key today")

    with pytest.raises(Fault, match="no key today") as caught:
        await model(server, Endpoint(client=plain(server, api_key=provider))).complete(request())
    assert caught.value.kind == "auth"
    assert server.bodies == []


@pytest.mark.parametrize("error", [RuntimeError, KeyError, ImportError])
async def test_a_provider_that_fails_where_the_object_sends(server: ChatServer, error: type[Exception]) -> None:
    async def provider() -> str:
        raise error(f"no token for {SECRET}")

    async with httpx2.AsyncClient(transport=Transport()) as own:
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=server.url, api_version="2024-10-21", azure_ad_token_provider=provider, http_client=own
        )
        with pytest.raises(Fault, match=f"the client object cannot make a request: {error.__name__}") as caught:
            await model(server, Endpoint(client=client)).complete(request())
    assert caught.value.kind == "auth"
    assert SECRET not in str(caught.value)
    assert server.bodies == []


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"api_key": SECRET}, "api-key", SECRET),
        ({"azure_ad_token": "token-of-mine"}, "Authorization", "Bearer token-of-mine"),
        ({"azure_ad_token_provider": lambda: "token-from-provider"}, "Authorization", "Bearer token-from-provider"),
    ],
)
@pytest.mark.parametrize("deployment", [None, "my-deployment"])
async def test_azure(server: ChatServer, auth: dict[str, Any], header: str, value: str, deployment: str | None) -> None:
    client = openai.AsyncAzureOpenAI(
        azure_endpoint=server.url.removesuffix("/v1"),
        azure_deployment=deployment,
        api_version="2024-10-21",
        **auth,
    )
    server.answers = [says('{"n": 1}')]
    reply = await model(server, Endpoint(client=client)).complete(request(FORM))
    assert reply.data == {"n": 1}
    assert server.paths == [f"{AZURE}/{deployment or 'm'}/chat/completions?api-version=2024-10-21"]
    assert server.headers[0][header] == value


class Transport(httpx2.AsyncHTTPTransport):
    seen = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen += 1
        request.headers["X-Transport"] = "mine"
        return await super().handle_async_request(request)


async def test_a_transport_of_its_own_is_used(server: ChatServer) -> None:
    transport = Transport()
    async with httpx2.AsyncClient(transport=transport) as own:
        client = plain(server, http_client=own)
        server.answers = [error(429), error(500), says('{"n": 1}')]
        reply = await model(server, Endpoint(client=client)).complete(request(FORM, seed=4))
        assert reply.data == {"n": 1}
        assert transport.seen == 3
        assert server.headers[0]["X-Transport"] == "mine"
        assert server.bodies[0]["seed"] == 4


async def test_a_class_of_its_own_is_used(server: ChatServer) -> None:
    class Mine(openai.AsyncOpenAI):
        @property
        def default_headers(self) -> dict[str, str | openai.Omit]:
            return {**super().default_headers, "X-Mine": "computed"}

    async with Mine(base_url=server.url, api_key=SECRET) as client:
        await model(server, Endpoint(client=client)).complete(request())
    assert server.headers[0]["X-Mine"] == "computed"


@pytest.mark.parametrize(
    ("answer", "kind", "tries"),
    [
        (error(401), "auth", 1),
        (error(429), "rate_limit", 3),
        (error(400, "x", "context_length_exceeded"), "context_length", 1),
        (resets, "connection", 3),
        (drips, "timeout", 3),
        (raw(b"{broken"), "bad_reply", 3),
        (raw(b'"text"'), "bad_reply", 3),
        (raw(b"[" * 900 + b"]" * 900), "bad_reply", 3),
        (raw(b"[" * 9000 + b"]" * 9000), "bad_reply", 3),
    ],
)
@pytest.mark.parametrize("own", [False, True])
async def test_failures_are_the_same_through_the_sdk(
    server: ChatServer, answer: Any, kind: str, tries: int, own: bool
) -> None:
    server.answers = [answer]
    async with httpx2.AsyncClient(transport=Transport()) as other:
        client = plain(server, http_client=other) if own else plain(server)
        with pytest.raises(Fault) as caught:
            await model(
                server, Endpoint(client=client), timeout=0.4 if kind == "timeout" else 10.0, retries=2
            ).complete(request())
    assert caught.value.kind == kind
    assert len(server.bodies) == tries
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("make", [lambda: openai.OpenAI(api_key="x"), lambda: "client", object])
def test_other_objects_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match="AsyncOpenAI"):
        resolve_endpoint("judge", client=make())
