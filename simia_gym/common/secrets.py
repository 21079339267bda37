"""Removes secrets from texts before they are written; servers, models and libraries may repeat API keys.

A secret is found as it stands, percent-encoded, in base64 (as in the header ``Basic``), and escaped as in JSON.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import PurePath
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_URL_NAME = re.compile(r"(?:URL|PROXY)$", re.IGNORECASE)
_SECRET_FIELD = re.compile(r"key|token|secret|pass|pwd|sig|auth|code|cred", re.IGNORECASE)
_IN_URL = re.compile(r"(https?://)[^/@\s'\"]*@|(?<=[?&])([^=&#\s'\"]+=)[^&#\s'\"]+", re.IGNORECASE)
_LEAST = 8
"""Shorter texts are words: in a free text they are no secret, unless they are a pair of a URL's query."""
_kept: dict[str, None] = {}


def keep_secret(*secrets: str) -> None:
    """Let `without_secrets` remove these texts, too: keys that did not come from the environment."""
    _kept.update(dict.fromkeys(secret for secret in secrets if _is_no_word(secret)))


def without_secrets(text: str) -> str:
    """Replace secrets by ``[secret]``.

    These are the values of environment variables (KEY, TOKEN, SECRET, PASSW in their name), passwords and queries in
    URLs there, and the texts that `keep_secret` was given.
    """
    return hide(text, filter(_is_no_word, (*_of_environment(), *_kept)), "[secret]")


def hide(text: str, secrets: Iterable[str], mark: str) -> str:
    """Replace all forms of some secrets by a mark."""
    for secret in secrets:
        for form in forms(secret):
            if form in text:
                text = text.replace(form, mark)
    return text


def hide_in_bytes(data: bytes, secrets: Iterable[str]) -> bytes:
    """Replace all forms of some secrets by ``***``, but for those that may be words, because `data` is to be used."""
    for secret in secrets:
        for form in _encoded(secret):
            if form in data:
                data = data.replace(form, b"***")
    return data


@lru_cache(maxsize=1024)
def forms(secret: str) -> tuple[str, ...]:
    """What a secret may look like; longest first."""
    data = secret.encode("utf-8", "replace")
    found = {secret, quote(data), quote(data, safe=""), quote_plus(data)}
    found |= {re.sub("%..", lambda code: code.group().lower(), form) for form in found}
    for encode in (b64encode, urlsafe_b64encode):
        found.add(encode(data).decode().rstrip("="))
        found |= {_within(encode, data, before) for before in range(3)}
    for _ in range(2):  # JSON may stand in JSON
        found |= {json.dumps(form)[1:-1] for form in found}
        found |= {form.replace("/", "\\/") for form in found if "\\/" not in form}
    return tuple(sorted(found, key=len, reverse=True))


def _within(encode: Callable[[bytes], bytes], data: bytes, before: int) -> str:
    """The characters in base64 that some bytes alone decide, whatever stands around them, as in ``user:secret``."""
    text = encode(bytes(before) + data).decode()
    return text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


@lru_cache(maxsize=1024)
def _encoded(secret: str) -> tuple[bytes, ...]:
    return tuple(form.encode("utf-8", "replace") for form in forms(secret) if _is_no_word(form))


def secrets_in(url: str) -> set[str]:
    """User and password of a URL, and the values of its query; of a short one that is no password, the whole pair."""
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    found = {user, unquote(user), parts.password or "", unquote(parts.password or "")}
    for name, value in parse_qsl(parts.query):
        secret = len(value) >= _LEAST or (len(value) > 3 and _SECRET_FIELD.search(name) is not None)
        found.add(value if secret else f"{name}={value}")
    return found - {""}


def without_secrets_in_urls(text: str) -> str:
    """Replace users, passwords and the values of queries in all URLs of a text by ``***``."""
    return _IN_URL.sub(lambda found: f"{found[1]}***@" if found[1] else f"{found[2]}***", text)


def shown_value(value: object) -> str:
    """A value in an error: texts and numbers as they are, of anything else the kind, because it may hold keys."""
    if value is None or isinstance(value, str | int | float | PurePath):
        return without_secrets_in_urls(repr(value))
    return f"a {type(value).__name__}"


def _is_no_word(text: str) -> bool:
    return len(text) >= _LEAST or (len(text) > 4 and "=" in text)


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name):
            yield value
        elif _URL_NAME.search(name) and ("@" in value or "?" in value):
            try:
                yield from secrets_in(value if "://" in value else f"http://{value}")
            except ValueError:
                yield value
