"""Model and endpoint of a role.

`ModelSettings` are part of configurations and records, so they hold no secrets. `Endpoint` holds addresses and API
keys; it is created at run time from arguments and environment variables and is never written to a file.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from simia_gym.common.secrets import secrets_in
from simia_gym.common.settings import Settings, setting
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

Structured = Literal["auto", "json_schema", "json_object", "none"]
Reading = Literal["tolerant", "strict"]
OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
_RESERVED = frozenset({"messages", "stream", "n"})
_SECRET = re.compile(r"(?:^|[-_])(?:api[-_]?key|authorization|secret|password|(?:access|auth|bearer)[-_]?token)$", re.I)


class ModelSettings(Settings):
    """How one role uses its model; holds no secrets and no addresses."""

    model: str | None = setting(None, "The model's name, as the server knows it.", min_length=1)
    temperature: int | float | None = setting(None, "Sampling temperature; None leaves it to the server.", ge=0)
    top_p: int | float | None = setting(None, "Nucleus sampling; None leaves it to the server.", gt=0, le=1)
    max_tokens: int | None = setting(
        None, "Maximum tokens of a reply, thinking included; None leaves it to the server.", ge=1
    )
    seed: bool = setting(True, "Whether requests include a sampling seed.")
    structured: Structured = setting(
        "auto", "How structured replies are requested: auto tries json_schema, then json_object, then none."
    )
    timeout: int | float = setting(120.0, "Timeout of one request in seconds, reading the response included.", gt=0)
    retries: int = setting(6, "Retries of a failed request (429, 5xx, timeout, lost connection).", ge=0)
    read: Reading = setting(
        "tolerant", "How structured replies are read: tolerant where they have one sound reading, or strict."
    )
    repairs: int = setting(
        2,
        "How often the model is asked again after a reply that cannot be read, with what is wrong with it; at most "
        "`retries`.",
        ge=0,
    )
    backoff: int | float = setting(0.5, "Maximum seconds before the first retry; doubled for each further retry.", ge=0)
    concurrency: int | None = setting(
        None, "Maximum number of requests in flight to this model; None for no limit.", ge=1
    )
    price_in: int | float | None = setting(None, "USD per million prompt tokens.", ge=0)
    price_cached: int | float | None = setting(
        None, "USD per million prompt tokens from the server's cache; else `price_in`.", ge=0
    )
    price_out: int | float | None = setting(None, "USD per million completion tokens.", ge=0)
    extra: Mapping[str, Any] = setting({}, "Further fields of the request body.")

    def __post_init__(self) -> None:
        """Refuse secrets in `extra`, and fields that the package sets itself."""
        if (secret := next(_secret_names(self.extra), None)) is not None:
            fix = "Settings stand in every record: give keys by api_key or environment variables."
            raise InputError(f"extra holds a secret, {secret!r}", where="extra", fix=fix)
        taken = sorted(_RESERVED & self.extra.keys())
        if taken:
            raise InputError(f"extra sets {', '.join(taken)}", where="extra", fix="Leave it out: the package sets it.")

    def to_answers(self) -> JsonObject:
        """The settings that affect replies: `to_json` without timeouts, retries, concurrency and prices."""
        return {name: value for name, value in self.to_json().items() if name not in NO_MATTER}

    def price(self, prompt: int, cached: int, completion: int) -> float:
        """Cost of a request in USD; 0 if no price is known.

        Args:
            prompt: Prompt tokens, cached ones included.
            cached: Prompt tokens from the server's cache.
            completion: Completion tokens.
        """
        price_in = self.price_in or 0.0
        price_cached = price_in if self.price_cached is None else self.price_cached
        whole = (prompt - cached) * price_in + cached * price_cached + completion * (self.price_out or 0.0)
        return whole / 1e6


def _secret_names(value: Any) -> Iterator[str]:
    """The names of the fields that look like an API key or password."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str) and _SECRET.search(str(name)):
                yield str(name)
            yield from _secret_names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secret_names(item)


NO_MATTER = frozenset({"timeout", "retries", "backoff", "concurrency", "price_in", "price_cached", "price_out"})
"""Settings that do not affect replies; a run may be resumed with different ones."""


@dataclass(frozen=True)
class Endpoint:
    """Address and credentials of a server. Only `host` may be shown.

    Attributes:
        base_url: The address up to and including ``/v1``; ``None`` for OpenAI's, or for the address of `client`.
        api_key: The API key.
        client: An ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI`` whose address, headers, query and authentication are
            used.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    client: Any = field(default=None, repr=False, compare=False)

    @property
    def url(self) -> str:
        """The base address, without credentials, query and fragment, and without a slash at its end."""
        parts = urlsplit(str(self.client.base_url) if self.client is not None else self.base_url or OPENAI_URL)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")

    def address(self, path: str) -> str:
        """The full URL of an API path such as ``/chat/completions``, with the query of the base address."""
        query = urlsplit(self.base_url or "").query
        return f"{self.url}{path}?{query}" if query else f"{self.url}{path}"

    @property
    def host(self) -> str:
        """Host and port; errors may show them."""
        return urlsplit(self.url).netloc

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of each request to an endpoint without a client object."""
        parts = urlsplit(self.base_url or "")
        authorization = f"Bearer {self.api_key or NO_KEY}"
        if parts.username is not None and self.api_key in (None, NO_KEY):
            both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {base64.b64encode(both.encode()).decode()}"
        return {"Content-Type": "application/json", "Accept": "application/json", "Authorization": authorization}

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets of the endpoint, which must not appear in any text; longest first."""
        found = {self.api_key, *secrets_in(self.base_url or "")}
        if self.client is not None:
            found.update(getattr(self.client, name, None) for name in ("api_key", "_azure_ad_token"))
        known = {text.strip() for text in found if isinstance(text, str)}
        return tuple(sorted((text for text in known if len(text) > 3 and text != NO_KEY), key=len, reverse=True))

    def __str__(self) -> str:
        return self.host


def resolve_model(role: str, model: str | None = None) -> str:
    """The name of a role's model: the given one, or that of the environment variables.

    Raises:
        InputError: No model is named.
    """
    found = model or _variable(role, "MODEL")
    if not found:
        fix = f"Set {_option(role, 'model')} or SIMIA_{role.upper()}_MODEL; in Python {_keyword(role, 'model')}."
        raise InputError("no model is named", where=model_of(role), fix=fix)
    return found


def resolve_endpoint(
    role: str, *, base_url: str | None = None, api_key: str | None = None, client: object | None = None
) -> Endpoint:
    """Find the endpoint of a role.

    Args:
        role: ``simulator``, ``escalation``, ``user``, ``judge`` or ``policy``.
        base_url: The configured address; ``None`` to use the environment variables.
        api_key: The configured API key; ``None`` to use the environment variables.
        client: A client object; if given, address and key are ignored.

    Raises:
        InputError: There is neither an address nor a key, or the address is not an HTTP URL.
    """
    if client is not None:
        return Endpoint(client=_checked_client(client, role))
    url = base_url or _variable(role, "BASE_URL") or os.environ.get("OPENAI_BASE_URL") or None
    key = (api_key or _variable(role, "API_KEY") or os.environ.get("OPENAI_API_KEY") or "").strip() or None
    if url is not None and not _is_address(url):
        fix = "Give a URL such as http://127.0.0.1:8000/v1."
        shown = url.rpartition("@")[2].partition("?")[0]
        raise InputError(f"{shown!r} is not the URL of an endpoint", where=model_of(role), fix=fix)
    if url is None and not key:
        names = f"{_option(role, 'base-url')} or SIMIA_{role.upper()}_BASE_URL (in Python {_keyword(role, 'base_url')})"
        fix = f"Set {names} for a server of your own, or OPENAI_API_KEY."
        raise InputError("there is neither an endpoint nor a key", where=model_of(role), fix=fix)
    return Endpoint(base_url=url, api_key=key or NO_KEY)


def configured(role: str, model: str | None = None, **place: Any) -> bool:
    """Whether both model and endpoint of a role are known; `place` as in `resolve_endpoint`."""
    try:
        resolve_model(role, model)
        resolve_endpoint(role, **place)
    except InputError:
        return False
    return True


def _variable(role: str, name: str) -> str | None:
    """The role's own variable; otherwise the variable for all roles except the policy.

    The escalation model falls back to the simulator's variable first.
    """
    own = os.environ.get(f"SIMIA_{role.upper()}_{name}")
    if not own and role == "escalation":
        own = os.environ.get(f"SIMIA_SIMULATOR_{name}")
    return own or (None if role == "policy" else os.environ.get(f"SIMIA_{name}")) or None


def _is_address(url: str) -> bool:
    """Whether a text is an HTTP URL with a well-formed host; the host is not resolved."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")  # refuses empty and overlong labels
        good = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        return False
    return good and host != "" and not any(char.isspace() for char in host)


def _checked_client(client: Any, role: str) -> Any:
    named = all(hasattr(client, name) for name in ("post", "base_url", "api_key"))
    if not named or not iscoroutinefunction(type(client).post):
        fix = "Pass an openai.AsyncOpenAI or openai.AsyncAzureOpenAI."
        raise InputError(f"{type(client).__name__} is not an OpenAI client", where=model_of(role), fix=fix)
    return client


def _option(role: str, name: str) -> str:
    return f"--{name}" if role in ("simulator", "teacher") else f"--{role}-{name}"


def _keyword(role: str, name: str) -> str:
    if role in ("simulator", "policy"):
        return f"{name}="
    return f"roles={{'{role}': {{'model': NAME}}}}" if name == "model" else f"base_urls={{'{role}': URL}}"


def model_of(role: str) -> str:
    """A role's model in an error message."""
    return f"the {role}'s model"
