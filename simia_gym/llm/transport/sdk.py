"""Support for client objects of the OpenAI SDK that users pass in.

The SDK builds the request, so URL, headers, query, Azure deployment path and authentication follow the client's
settings; our faster HTTP client sends it. If the object has a custom transport or a subclass, the SDK sends it itself.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.llm.transport.connections import MAX_REPLY, Answer
from simia_gym.llm.transport.failures import Failure
from simia_gym.llm.transport.http import Target

CHAT = "/chat/completions"
_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding", "accept"})
_ours: ContextVar[bool] = ContextVar("whether a request of the SDK was sent here", default=False)
_PLAIN_TRANSPORT = "AsyncHttpxClientWrapper"


def is_plain(client: Any) -> bool:
    """Whether our HTTP client may send instead of this object's transport."""
    import openai  # imported here, because the import is slow

    return (
        type(client) in (openai.AsyncOpenAI, openai.AsyncAzureOpenAI)
        and type(getattr(client, "_client", None)).__name__ == _PLAIN_TRANSPORT
        and getattr(client, "workload_identity", None) is None
        and getattr(client, "_provider_runtime", None) is None
        and callable(getattr(client, "_prepare_options", None))
        and callable(getattr(client, "_build_request", None))
    )


class Targets:
    """URL and headers of the requests that the SDK builds for a plain object; Azure's URL has the model's name.

    Attributes:
        secrets: The API keys of the last target.
    """

    def __init__(self, client: Any, model: str) -> None:
        self._client, self._model = client, model
        self._known: tuple[object, Target] | None = None
        self.secrets: tuple[str, ...] = ()

    async def get(self) -> Target:
        """The target of the next request; built once if the object's key is fixed, otherwise for each request.

        Raises:
            Failure: ``auth``: the object has no key, or its provider fails.
        """
        from openai._models import FinalRequestOptions

        client = self._client
        state = (client.api_key, str(client.base_url), getattr(client, "_azure_ad_token", None))
        providers = ("_api_key_provider", "_azure_ad_token_provider")
        fixed = all(getattr(client, name, None) is None for name in providers)
        if fixed and self._known is not None and self._known[0] == state:
            return self._known[1]
        try:
            options = FinalRequestOptions.construct(method="post", url=CHAT, json_data={"model": self._model})
            request = client._build_request(await client._prepare_options(options))
        except Exception as error:
            raise Failure("auth", f"the client object cannot make a request: {type(error).__name__}: {error}") from None
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _OWN}
        self._known = (state, Target(str(request.url), headers))
        keys = (value for name, value in headers.items() if name.lower() in ("authorization", "api-key"))
        self.secrets = tuple(key.removeprefix("Bearer ") for key in keys if len(key) > len("Bearer "))
        return self._known[1]


async def send_by_sdk(client: Any, body: bytes, timeout: float) -> Answer:
    """Send a chat request through the client object itself, within `timeout` seconds; redirects are not followed.

    Raises:
        Failure: ``timeout``, ``connection``, ``auth`` or ``bad_reply``.
    """
    import openai

    # A compressed response could be of any length.
    options: dict[str, Any] = {"max_retries": 0, "timeout": timeout, "follow_redirects": False}
    options["headers"] = {"Accept-Encoding": "identity"}
    hooks = getattr(getattr(client, "_client", None), "event_hooks", {"response": []})["response"]
    if _read not in hooks:
        hooks.append(_read)
    token = _ours.set(True)
    try:
        async with asyncio.timeout(timeout):
            found = await client.post(CHAT, cast_to=object, body=decode(body), options=options)
    except openai.APIStatusError as error:
        headers = {key.lower(): value for key, value in error.response.headers.items()}
        return Answer(error.status_code, error.response.content, headers)
    except (openai.APITimeoutError, TimeoutError):
        raise Failure("timeout", f"no answer within {timeout:g} s", again=True) from None
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        if isinstance(cause, Failure):
            raise cause from None
        raise Failure("connection", f"{type(cause).__name__}: {cause}", again=True) from None
    except (openai.APIResponseValidationError, ValueError, RecursionError) as error:
        raise Failure("bad_reply", f"the answer cannot be read: {error}", again=True) from None
    except openai.OpenAIError as error:
        raise Failure("auth", f"the client object cannot make a request: {error}") from None
    except Exception as error:  # the user's key provider may raise anything, and the message may contain a key
        raise Failure("auth", f"the client object cannot make a request: {type(error).__name__}") from None
    finally:
        _ours.reset(token)
    try:
        return Answer(200, encode(found), {})
    except InputError:
        raise Failure("bad_reply", "the answer is nested too deeply", again=True) from None


async def _read(response: Any) -> None:
    """Read the body of a response to a request of ours, up to `MAX_REPLY`; otherwise the SDK reads it whole."""
    if not _ours.get():
        return
    coding = response.headers.get("content-encoding", "identity")
    if coding != "identity":
        raise Failure("bad_reply", f"the answer is compressed ({coding}), which was not asked for", again=True)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_REPLY:
            raise Failure("bad_reply", f"the answer is longer than {MAX_REPLY // 1_000_000} MB", again=True)
    response._content = bytes(body)  # what `aread()` keeps
