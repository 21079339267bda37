"""Read the assistant's message from the body of an answer; every field is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.llm.transport.failures import Failure, text_of
from simia_gym.llm.types import Usage

BYTES_PER_TOKEN = 4
_KEPT = 2000
"""Characters of an answer that is none; far more than is shown, since a key cut in two would not be found in it."""


class Said(NamedTuple):
    """What a chat completion says.

    Attributes:
        content: The text, thinking included; empty where there is none.
        refusal: The words of a refusal.
        calls: Whether the model called tools.
        message: The assistant message as it came.
        finish_reason: Why the model stopped.
        model: The model that answered, as the server says.
        usage: What it took.
    """

    content: str
    refusal: str
    calls: bool
    message: Mapping[str, Any]
    finish_reason: str | None
    model: str
    usage: Usage


def read_completion(body: bytes) -> Said:
    """Read the body of a successful answer.

    Args:
        body: JSON in the layout of OpenAI's chat completions.

    Returns:
        What it says.

    Raises:
        Failure: ``bad_reply``: it is no chat completion.
    """
    try:
        data = orjson.loads(body)
    except ValueError:
        data = _unusual(body)
    choice: Any = None
    message: Any = None
    try:
        choice = data["choices"][0]  # of a text it is a text, which has no "message"
        message = choice["message"]
    except (TypeError, LookupError):
        pass
    if type(message) is not dict:
        raise Failure("bad_reply", f"the answer is no chat completion{_complaint(data)}", again=True)
    listed = message.get("tool_calls")
    calls = False
    if type(listed) is list:
        calls = len(listed) > 0
        for item in listed:
            if type(item) is not dict or type(item.get("function")) is not dict:
                raise Failure("bad_reply", "a tool call of the reply has no function", again=True)
    content, refusal = message.get("content"), message.get("refusal")
    reason, model = choice.get("finish_reason"), data.get("model")
    return Said(
        content if type(content) is str else "" if content is None else _text(content),
        refusal if type(refusal) is str else "",
        calls,
        message,
        reason if type(reason) is str else None,
        model if type(model) is str else "",
        _usage(data.get("usage")),
    )


def _unusual(body: bytes) -> Any:
    """JSON that the fast decoder refuses, such as half a surrogate pair; or none at all."""
    try:
        return orjson.loads(encode(decode(body)))
    except (ValueError, RecursionError, InputError):
        start = " ".join(body[:_KEPT].decode("utf-8", "replace").split())
        raise Failure("bad_reply", f"the answer is no JSON: {start!r}", again=True) from None


def _complaint(data: Any) -> str:
    """Some servers answer 200 with an error in it."""
    error = data.get("error") if isinstance(data, dict) else None
    return f": {text_of(error)[:_KEPT]}" if error else ""


def estimated(prompt: int, body: bytes, message: Mapping[str, Any]) -> Usage:
    """Estimated token counts for servers that report none: four bytes a token.

    Args:
        prompt: Bytes of the request.
        body: Body of the answer.
        message: The message in it.
    """
    try:
        said = len(encode(message))
    except InputError:
        said = len(body)
    return Usage(prompt // BYTES_PER_TOKEN, 0, said // BYTES_PER_TOKEN)


def _text(content: Any) -> str:
    """The text of a content that is none itself."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _usage(found: Any) -> Usage:
    if type(found) is not dict:
        return Usage()
    prompt, completion = found.get("prompt_tokens"), found.get("completion_tokens")
    if type(prompt) is not int or prompt < 0:
        prompt = 0
    if type(completion) is not int or completion < 0:
        completion = 0
    details = found.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if type(details) is dict else 0
    if type(cached) is not int or cached < 0:
        cached = 0
    return Usage(prompt, min(prompt, cached), completion)
