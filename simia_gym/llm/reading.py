"""Read the assistant's message from a response body; every field is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.llm.transport.failures import KEPT, Failure, of_answer
from simia_gym.llm.types import Reply, Sampled, Usage

BYTES_PER_TOKEN = 4
_FAILED_SAMPLES = frozenset({"json_validate_failed", "tool_use_failed"})
"""Codes of an error by which a server, such as Groq's, says that it accepts the request, and that what the model wrote
for it has not the form. What the model wrote stands in ``failed_generation``."""


def read_completion(body: bytes) -> Reply:
    """Parse the body of a successful response, in the layout of OpenAI's chat completions.

    Returns:
        The reply with its raw text; without `Reply.text` and `Reply.data`, which are read from it.

    Raises:
        Failure: ``bad_reply``: the body is not a chat completion.
    """
    try:
        data = orjson.loads(body)
    except ValueError:
        data = _unusual(body)
    choice: Any = None
    message: Any = None
    try:
        choice = data["choices"][0]  # if "choices" is a string, this is a character, and the next line raises TypeError
        message = choice["message"]
    except (TypeError, LookupError):
        pass
    if type(message) is not dict:
        error = data.get("error") if isinstance(data, dict) else None
        if error:
            raise of_answer(error, body)
        raise Failure("bad_reply", "the answer is no chat completion", again=True)
    beside = choice.get("error") or data.get("error")
    if beside:
        raise of_answer(beside, body)
    listed = message.get("tool_calls")
    if listed and type(listed) is not list:
        raise Failure("bad_reply", "the tool_calls of the reply are no list", again=True)
    for item in listed or ():
        if type(item) is not dict or (type(item.get("function")) is not dict and type(item.get("name")) is not str):
            raise Failure("bad_reply", "a tool call of the reply has no function", again=True)
    content, reason, model = message.get("content"), choice.get("finish_reason"), data.get("model")
    return Reply(
        text="",
        raw=content if type(content) is str else _text(content),
        message=message,
        finish_reason=reason if type(reason) is str else None,
        model=model if type(model) is str else "",
        usage=_usage(data.get("usage")),
        sampled=_sampled(data, choice) if "logprobs" in choice or "token_ids" in choice else None,
    )


def failed_sample(body: bytes) -> Reply | None:
    """What the model wrote, if an error's body says that this alone was wrong; its form is judged as every reply's."""
    try:
        error = orjson.loads(body)["error"]
        code, content = error["code"], error.get("failed_generation")
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    if code not in _FAILED_SAMPLES or not isinstance(content, str | None):
        return None
    message = {"role": "assistant", "content": content or ""}
    return Reply(text="", raw=content or "", message=message, finish_reason="stop")


def _sampled(data: Mapping[str, Any], choice: Mapping[str, Any]) -> Sampled | None:
    """The tokens of a choice; a field of another form counts as not given."""
    listed = choice.get("logprobs")
    content = listed.get("content") if type(listed) is dict else None
    logprobs: tuple[float, ...] | None = None
    if type(content) is list and content and all(type(item) is dict for item in content):
        found = [item.get("logprob") for item in content]
        if all(type(value) in (int, float) for value in found):
            logprobs = tuple(map(float, found))
    given = Sampled(_ids(data.get("prompt_token_ids")), _ids(choice.get("token_ids")), logprobs)
    return None if given == Sampled() else given


def _ids(found: Any) -> tuple[int, ...] | None:
    return tuple(found) if type(found) is list and all(type(item) is int for item in found) else None


def _unusual(body: bytes) -> Any:
    """Decode JSON that the fast decoder refuses, such as a lone surrogate."""
    try:
        return orjson.loads(encode(decode(body)))
    except (ValueError, RecursionError, InputError):
        start = " ".join(body[:KEPT].decode("utf-8", "replace").split())
        raise Failure("bad_reply", f"the answer is no JSON: {start!r}", again=True) from None


def estimated(prompt: int, body: bytes, message: Mapping[str, Any]) -> Usage:
    """Estimate the token counts for servers that report none, from the bytes of request and message."""
    try:
        said = len(encode(message))
    except InputError:
        said = len(body)
    return Usage(prompt // BYTES_PER_TOKEN, 0, said // BYTES_PER_TOKEN)


def _text(content: Any) -> str:
    """The text of a message content that is not a string, such as a list of parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _usage(found: Any) -> Usage:
    if type(found) is not dict:
        return Usage()
    prompt, details = _count(found.get("prompt_tokens")), found.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if type(details) is dict else 0
    return Usage(prompt, min(prompt, cached), _count(found.get("completion_tokens")))


def _count(found: Any) -> int:
    return found if type(found) is int and found > 0 else 0
