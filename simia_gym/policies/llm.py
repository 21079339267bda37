"""The policy that asks a language model behind an OpenAI-compatible endpoint.

One HTTP client serves all policies of an event loop. A failure of the provider is tried again where that may help,
a bounded number of times, and then becomes a `Fault` with role ``policy``: never an empty action, which would be
scored as the model's own doing. A model that ends its turn with nothing said, again and again, is another matter: that
is its own doing, and an empty action. Otherwise a model would raise its score by falling silent on hard tasks.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import openai

from simia_gym.actions.signatures import public_schema
from simia_gym.errors import Fault, InputError
from simia_gym.policies.base import PolicyOptions, PolicyStart
from simia_gym.policies.transcript import openai_messages
from simia_gym.types import JsonObject, Message

_NO_KEY = "none"
_MAX_WAIT = 60.0
_MAX_BAD_REPLIES = 2
_SILENT = "empty_reply"
_AGAIN = frozenset(("rate_limit", "server_error", "timeout", "connection", "bad_reply", _SILENT))
_KIND_OF_STATUS = {401: "auth", 403: "auth", 404: "not_found", 408: "timeout", 429: "rate_limit"}

_Clients = dict[tuple[str | None, str], openai.AsyncOpenAI]
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()
_jitter = random.Random()


class LLMPolicy:
    """Asks a model for each action.

    Args:
        options: Settings; what is missing is looked up in the environment.

    Raises:
        InputError: No model, or neither endpoint nor key, is given.
    """

    def __init__(self, options: PolicyOptions | None = None) -> None:
        self._options = resolve_options(options or PolicyOptions())
        self._tools: list[JsonObject] = []

    def start(self, start: PolicyStart) -> None:
        """Begin an episode. Tools go into the request only where answers come back in the role ``tool``."""
        native = self._options.native_tools and start.grammar.observation_role == "tool"
        self._tools = [public_schema(tool) for tool in start.tools] if native else []

    async def act(self, messages: Sequence[Message]) -> str:
        """Ask for the next action.

        Args:
            messages: The transcript so far.

        Returns:
            The model's text, or its tool calls as an OpenAI assistant message in JSON.

        Raises:
            Fault: The endpoint failed, after further tries where those may help. Kinds: ``rate_limit``,
                ``server_error``, ``timeout``, ``connection``, ``auth``, ``not_found``, ``bad_request``, ``bad_reply``.
        """
        body = self._body(messages)
        tries = bad_replies = 0
        while True:
            tries += 1
            try:
                return action_text(await self._request(body))
            except Fault as fault:
                failure, wait = fault, _retry_after(fault.__cause__)
            bad_replies += failure.kind in ("bad_reply", _SILENT)
            if failure.kind == _SILENT and (bad_replies > _MAX_BAD_REPLIES or tries > self._options.retries):
                return ""
            hopeless = failure.kind not in _AGAIN or bad_replies > _MAX_BAD_REPLIES or _out_of_quota(failure.__cause__)
            if hopeless or tries > self._options.retries:
                raise self._final(failure, tries)
            if wait is None:
                wait = self._options.backoff * 2 ** (tries - 1) * (0.75 + 0.5 * _jitter.random())
            await asyncio.sleep(min(wait, _MAX_WAIT))

    def _body(self, messages: Sequence[Message]) -> JsonObject:
        options = self._options
        body: JsonObject = {"model": options.model, "messages": openai_messages(messages)}
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if options.max_tokens is not None:
            body["max_tokens"] = options.max_tokens
        if self._tools:
            body["tools"] = self._tools
        return {**body, **options.extra}

    async def _request(self, body: JsonObject) -> object:
        """Send one request; every way in which it can fail becomes a `Fault`."""
        client = _client(self._options)
        try:
            # The client's own timeout counts the pauses between bytes; a server that drips needs this one.
            async with asyncio.timeout(self._options.timeout):
                return await client.post("/chat/completions", cast_to=object, body=body)
        except openai.APIStatusError as error:
            kind = _KIND_OF_STATUS.get(error.status_code)
            if kind is None:
                kind = "server_error" if error.status_code >= 500 or error.status_code in (409, 425) else "bad_request"
            raise Fault(kind, f"HTTP {error.status_code}: {error.message}", role="policy") from error
        except (openai.APITimeoutError, TimeoutError) as error:
            raise Fault("timeout", f"no answer within {self._options.timeout:g} s", role="policy") from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Fault("connection", f"{type(cause).__name__}: {cause}", role="policy") from error
        except (openai.OpenAIError, ValueError) as error:
            raise Fault("bad_reply", f"the answer cannot be read: {error}", role="policy") from error

    def _final(self, fault: Fault, tries: int) -> Fault:
        """Say where it failed and how often it was tried, without secrets."""
        options = self._options
        host = urlsplit(options.base_url or "https://api.openai.com").netloc.rpartition("@")[2]
        times = "1 try" if tries == 1 else f"{tries} tries"
        message = " ".join(fault.message.split())
        for secret in (options.api_key, urlsplit(options.base_url or "").netloc.rpartition("@")[0]):
            if secret and secret != _NO_KEY:
                message = message.replace(secret, "***")
        # A new fault, without the old one's cause: that holds the request with its headers.
        return Fault(fault.kind, f"{message[:300]} ({options.model} at {host}, {times})", role="policy")


def resolve_options(options: PolicyOptions) -> PolicyOptions:
    """Fill in from the environment what is not set.

    Args:
        options: The settings given.

    Returns:
        Settings with model and key, and with the endpoint unless it is OpenAI's own.

    Raises:
        InputError: No model is named, or OpenAI's own endpoint would be asked without a key.
    """
    env = os.environ
    model = options.model or env.get("SIMIA_POLICY_MODEL")
    base_url = options.base_url or env.get("SIMIA_POLICY_BASE_URL") or env.get("OPENAI_BASE_URL") or None
    key = options.api_key or env.get("SIMIA_POLICY_API_KEY") or env.get("OPENAI_API_KEY")
    if not model:
        fix = "Set --policy-model or SIMIA_POLICY_MODEL."
        raise InputError("no model is named", where="policy 'llm'", fix=fix)
    if base_url is not None and urlsplit(base_url).scheme not in ("http", "https"):
        fix = "Give a URL such as http://127.0.0.1:8000/v1."
        raise InputError(f"{base_url!r} is no address of an endpoint", where="policy 'llm'", fix=fix)
    if base_url is None and not key:
        fix = "Set --policy-base-url or SIMIA_POLICY_BASE_URL for a server of your own, or OPENAI_API_KEY."
        raise InputError("there is neither an endpoint nor a key", where="policy 'llm'", fix=fix)
    return replace(options, model=model, base_url=base_url, api_key=key or _NO_KEY)


def action_text(completion: object) -> str:
    """Turn a chat completion into the text of an action.

    Args:
        completion: The decoded body of the answer.

    Returns:
        The text, or the assistant message as JSON where it has tool calls.

    Raises:
        Fault: ``bad_reply``: it is no chat completion; ``empty_reply``: the model ended its turn without a word.
    """
    choices = completion.get("choices") if isinstance(completion, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Fault("bad_reply", "the answer is no chat completion", role="policy")
    content = message.get("content")
    listed = message.get("tool_calls")
    if isinstance(listed, list) and listed:
        calls = [_call(item) for item in listed]
        text = content if isinstance(content, str) else None
        return json.dumps({"role": "assistant", "content": text, "tool_calls": calls}, ensure_ascii=False)
    for text in (content, message.get("refusal")):
        if isinstance(text, str) and text.strip():
            return text
    reason = choice.get("finish_reason")
    kind = _SILENT if reason in ("stop", "length") else "bad_reply"
    raise Fault(kind, f"the model's reply is empty (finish_reason {reason!r})", role="policy")


async def close_clients() -> None:
    """Close the HTTP clients of the running loop. The next request opens new ones."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.close()


def _client(options: PolicyOptions) -> openai.AsyncOpenAI:
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    key = (options.base_url, options.api_key or _NO_KEY)
    client = clients.get(key)
    if client is None:
        # Tries are counted here and not in the client, which knows nothing of replies that are empty.
        client = openai.AsyncOpenAI(base_url=key[0], api_key=key[1], max_retries=0, timeout=None)
        clients[key] = client
    return client


def _call(item: Any) -> JsonObject:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict):
        raise Fault("bad_reply", "a tool call of the reply has no function", role="policy")
    call: JsonObject = {"type": "function", "function": {key: function.get(key) for key in ("name", "arguments")}}
    return {"id": item["id"], **call} if item.get("id") else call


def _retry_after(error: BaseException | None) -> float | None:
    """The pause that the server asks for, in seconds."""
    if not isinstance(error, openai.APIStatusError):
        return None
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def _out_of_quota(error: BaseException | None) -> bool:
    """OpenAI answers 429 also where the account has no credit; waiting does not help then."""
    return isinstance(error, openai.RateLimitError) and error.code == "insufficient_quota"
