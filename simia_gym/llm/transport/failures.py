"""Failed requests: their kind, and whether a retry may succeed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from simia_gym.common.secrets import hide, without_secrets

MAX_WAIT = 60.0
REDIRECTS = "redirects are not followed"
_TEXT = 300
KEPT = 2000
"""Characters kept of a text of a server; more than an error shows, so that the cut never splits a secret that is shown,
which redaction would then miss."""
_KIND_OF_STATUS = {401: "auth", 403: "auth", 404: "not_found", 408: "timeout", 413: "context_length", 429: "rate_limit"}
_KIND_OF_STATUS |= {402: "rate_limit", 405: "not_found", 501: "not_found"}  # no credit; no POST at this address
_PASSING = frozenset({408, 409, 425, 429})
_TOO_LONG = re.compile(
    r"context[_ ]length|context window|maximum context|context size|too many tokens|prompt is too long"
    r"|reduce the length|longer than the (?:maximum|model)|exceeds? (?:the )?(?:max_model_len|model's max)"
    r"|input (?:length|is too long)|max_prompt_length|token count.{0,40}exceeds? the maximum"
    r"|`?inputs`? (?:tokens \+ `?max_new_tokens`? must be|must have less than)"
    # Some servers reduce max_tokens to the free context; this is their error if the prompt leaves none.
    r"|max_(?:completion_)?tokens must be at least 1, got (?:0|-\d+)",
    re.IGNORECASE,
)
_SURELY_TOO_LONG = re.compile(
    r"exceeds? (?:the )?(?:available |maximum |model's )?context (?:size|length|window)", re.IGNORECASE
)
"""Also applied to status 500, which some servers use for this error; the other patterns are too broad for that."""
_NO_KEY = re.compile(r"api[ _-]?key (?:is )?(?:not valid|invalid)|(?:invalid|incorrect) api[ _-]?key", re.IGNORECASE)
_FILTERED = re.compile(r"content[_ ](?:filter|policy|management)|responsibleai", re.IGNORECASE)
_NO_MODEL = re.compile(r"model.{0,80}(?:does not exist|not found|not exist)|model_not_found", re.IGNORECASE)
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_SAYS_NO_CREDIT = re.compile(
    r"^HTTP 402\b|insufficient[ _](?:credit|balance|quota|funds)|exceeded your current quota"
    r"|billing[ _](?:hard[ _]limit|not[ _]active)",
    re.IGNORECASE,
)


@dataclass(eq=False)
class Failure(Exception):
    """A request failed.

    Args:
        kind: One of the kinds of `Fault`.
        message: One line for people.
        again: Whether a retry may succeed.
        wait: Pause that the server asks for, in seconds; ``None`` if it asks for none.
        status: HTTP status; 0 without a response.
        code: The server's error code.
        param: The request parameter that the server names.

    Attributes:
        said: Whether the model replied, but the reply is unusable.
    """

    kind: str
    message: str
    _: KW_ONLY
    again: bool = False
    wait: float | None = None
    status: int = 0
    code: str = ""
    param: str = ""
    said: bool = field(default=False, init=False)


def of_status(status: int, body: bytes, headers: Mapping[str, str]) -> Failure:
    """Classify a response whose status is not 200; the names of `headers` are in lower case."""
    if 300 <= status < 400:
        # Following a redirect would send the API key to another server.
        fix = f"{REDIRECTS}: give the final address as the base URL"
        return Failure("bad_request", f"HTTP {status}: {fix}", status=status)
    text, code, param = (part[:KEPT] for part in _error_of(body))
    kind = _KIND_OF_STATUS.get(status)
    if kind is None:
        kind = "server_error" if status >= 500 or status in _PASSING else "bad_request"
    again = status in _PASSING or kind == "server_error"
    whole = f"{code} {text}"
    if kind == "rate_limit" and code in _NO_CREDIT:
        again, text = False, f"{text} ({code})"
    elif kind in ("bad_request", "context_length"):
        if code == "context_length_exceeded" or _TOO_LONG.search(whole):
            kind = "context_length"
        elif _FILTERED.search(whole):
            kind = "content_filter"
        elif _NO_MODEL.search(whole):
            kind = "not_found"
        elif _NO_KEY.search(whole):
            kind = "auth"
    elif status == 500 and _SURELY_TOO_LONG.search(whole):
        kind, again = "context_length", False
    wait = retry_after(headers) if again else None
    return Failure(
        kind, f"HTTP {status}: {text or 'no text'}", again=again, wait=wait, status=status, code=code, param=param
    )


def of_answer(error: Any, body: bytes) -> Failure:
    """Classify an error that stands in an answer with status 200, alone or beside a choice."""
    code = error.get("code") if isinstance(error, dict) else None
    status = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else 0
    if not 400 <= status < 600:
        status = 429 if isinstance(code, str) and "rate_limit" in code else 400
    text = orjson.dumps({"error": error}) if isinstance(error, dict | str) else body
    found = of_status(status, text, {})
    if found.kind == "bad_request":
        found.kind, found.again = "bad_reply", True
    _, _, said = found.message.partition(": ")
    found.message = f"the server answered an error with status 200: {said}"
    return found


def no_credit(kind: str, message: str) -> bool:
    """Whether kind and message of a failure say that the account has no credit, so that a retry cannot succeed."""
    return kind == "rate_limit" and _SAYS_NO_CREDIT.search(message) is not None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause that a server asks for, in seconds, at most `MAX_WAIT`; ``None`` if it asks for none."""
    in_ms = headers.get("retry-after-ms")
    text = in_ms or headers.get("retry-after")
    if not text:
        return None
    try:
        seconds = float(text) / (1000 if in_ms else 1)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, OverflowError):  # not a date, or out of range
            return None
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - time.time()
        seconds = max(0.0, seconds)
    return min(seconds, MAX_WAIT) if seconds >= 0 else None


def one_line(text: str, secrets: Iterable[str], limit: int = _TEXT) -> str:
    """Turn a text from outside into one printable line of at most `limit` characters, with ``***`` for secrets."""
    text = " ".join(without_secrets(hide(text, secrets, "***")).split())
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def text_of(value: Any) -> str:
    """A JSON value as text; a string is returned unchanged."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # `orjson.loads` reads deeper nesting than `orjson.dumps` can write
        return "something that is nested too deeply"


def _error_of(body: bytes) -> tuple[str, str, str]:
    """Text, code and parameter of an error body, in any of the layouts that servers use."""
    try:
        data: Any = orjson.loads(body)
    except ValueError:
        return re.sub(r"<[^>]*>", " ", body[:KEPT].decode("utf-8", "replace")), "", ""
    if isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict):
        data = data[0]
    found = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(found, dict):
        return text_of(found), "", ""
    text = found.get("message") or found.get("detail") or found.get("error") or found
    code = found.get("code") or found.get("type") or ""
    inner = found.get("innererror")
    if isinstance(inner, dict) and isinstance(inner.get("code"), str):
        code = f"{text_of(code)} {inner['code']}"
    return text_of(text), text_of(code), text_of(found.get("param") or "")
