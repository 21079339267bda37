"""Model and endpoint of a role.

`ModelSettings` are part of configurations and records, so they hold no secrets. `Endpoint` holds addresses and API
keys; it is created at run time from arguments and environment variables and is never written to a file.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from simia_gym.common.settings import Settings, setting
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

Structured = Literal["auto", "json_schema", "json_object", "none"]
OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
_RESERVED = frozenset({"messages", "stream", "n"})
_SECRET = re.compile(r"(?:^|[-_])(?:api[-_]?key|authorization|secret|password|(?:access|auth|bearer)[-_]?token)$", re.I)
_LEAST_IN_QUERY = 8
"""Query values of at least this many characters are treated as secrets."""
_LONGEST_LABEL = 63


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
    rereads: int = setting(
        2, "Retries of an unusable reply (empty, or invalid under the schema); at most `retries`.", ge=0
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
        """Refuse secrets in `extra`, and fields that the package sets itself.

        Raises:
            InputError: `extra` holds such a field.
        """
        if (secret := _secret_in(self.extra)) is not None:
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
        if self.price_in is None and self.price_cached is None and self.price_out is None:
            return 0.0
        price_in = self.price_in or 0.0
        price_cached = price_in if self.price_cached is None else self.price_cached
        whole = (prompt - cached) * price_in + cached * price_cached + completion * (self.price_out or 0.0)
        return whole / 1e6


def _secret_in(value: Any) -> str | None:
    """The name of the first field that looks like an API key or password; ``None`` if there is none."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str) and _SECRET.search(str(name)):
                return str(name)
            if (found := _secret_in(item)) is not None:
                return found
    elif isinstance(value, list | tuple):
        return next((found for item in value if (found := _secret_in(item)) is not None), None)
    return None


NO_MATTER = frozenset({"timeout", "retries", "backoff", "concurrency", "price_in", "price_cached", "price_out"})
"""Settings that do not affect replies; a run may be resumed with different ones."""


@dataclass(frozen=True)
class Endpoint:
    """Address and credentials of a server. Only `host` may be shown.

    Attributes:
        base_url: The address up to and including ``/v1``; ``None`` for OpenAI's, or for the address of `client`.
        api_key: The API key.
        headers: Further headers of each request.
        client: An ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI`` whose address, headers, query and authentication are
            used.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    client: Any = field(default=None, repr=False, compare=False)

    @property
    def url(self) -> str:
        """The base address, without credentials, query and fragment, and without a slash at its end."""
        return _bare(str(self.client.base_url) if self.client is not None else self.base_url or OPENAI_URL)

    @property
    def query(self) -> str:
        """The query of the address; it is appended to the path of each request."""
        return urlsplit(self.base_url or "").query

    def address(self, path: str) -> str:
        """The full URL of an API path.

        Args:
            path: The path, such as ``/chat/completions``.
        """
        return f"{self.url}{path}?{self.query}" if self.query else f"{self.url}{path}"

    @property
    def host(self) -> str:
        """Host and port; errors may show them."""
        return urlsplit(self.url).netloc

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password from the address; ``None`` if it has none."""
        parts = urlsplit(self.base_url or "")
        return None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets of the endpoint, which must not appear in any text; longest first."""
        parts = urlsplit(self.base_url or "")
        found = {self.api_key, parts.password, *self.headers.values(), *(self.credentials or ())[1:]}
        found.add(parts.netloc.rpartition("@")[0])
        found.update(value for _, value in parse_qsl(parts.query) if len(value) >= _LEAST_IN_QUERY)
        if self.client is not None:
            found.update(getattr(self.client, name, None) for name in ("api_key", "_azure_ad_token"))
        known = {text.strip() for text in found if isinstance(text, str)}
        return tuple(sorted((text for text in known if len(text) > 3 and text != NO_KEY), key=len, reverse=True))

    def __str__(self) -> str:
        return self.host


@lru_cache(maxsize=64)
def _bare(address: str) -> str:
    """An address without credentials, query and fragment, and without a slash at its end."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def headers_of(endpoint: Endpoint) -> Mapping[str, str]:
    """The headers of each request to an endpoint without a client object."""
    own = _own_headers(endpoint.api_key, endpoint.credentials)
    return {**own, **endpoint.headers} if endpoint.headers else own


@lru_cache(maxsize=64)
def _own_headers(key: str | None, credentials: tuple[str, str] | None) -> Mapping[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key and key != NO_KEY:
        headers["Authorization"] = f"Bearer {key}"
    elif credentials is not None:
        both = base64.b64encode(":".join(credentials).encode()).decode()
        headers["Authorization"] = f"Basic {both}"
    else:
        headers["Authorization"] = f"Bearer {NO_KEY}"
    return headers


def resolve_model(role: str, model: str | None = None, environ: Mapping[str, str] | None = None) -> str:
    """Find the model of a role.

    Args:
        role: ``simulator``, ``user``, ``judge`` or ``policy``.
        model: The configured name; ``None`` to use the environment variables.
        environ: The environment variables; default those of the process.

    Returns:
        The model's name.

    Raises:
        InputError: No model is named.
    """
    found = model or _variable(role, "MODEL", os.environ if environ is None else environ)
    if not found:
        fix = f"Set {_option(role, 'model')} or SIMIA_{role.upper()}_MODEL; in Python {_keyword(role, 'model')}."
        raise InputError("no model is named", where=_where(role), fix=fix)
    return found


def resolve_endpoint(
    role: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: object | None = None,
    environ: Mapping[str, str] | None = None,
) -> Endpoint:
    """Find the endpoint of a role.

    Args:
        role: ``simulator``, ``escalation``, ``user``, ``judge`` or ``policy``.
        base_url: The configured address; ``None`` to use the environment variables.
        api_key: The configured API key; ``None`` to use the environment variables.
        client: A client object; if given, all other arguments are ignored.
        environ: The environment variables; default those of the process.

    Returns:
        The endpoint.

    Raises:
        InputError: There is neither an address nor a key, or the address is not an HTTP URL.
    """
    if client is not None:
        return Endpoint(client=_checked_client(client, role))
    env = os.environ if environ is None else environ
    url = base_url or _variable(role, "BASE_URL", env) or env.get("OPENAI_BASE_URL") or None
    key = (api_key or _variable(role, "API_KEY", env) or env.get("OPENAI_API_KEY") or "").strip() or None
    if url is not None and not _is_address(url):
        fix = "Give a URL such as http://127.0.0.1:8000/v1."
        shown = url.rpartition("@")[2].partition("?")[0]
        raise InputError(f"{shown!r} is not the URL of an endpoint", where=_where(role), fix=fix)
    if url is None and not key:
        names = f"{_option(role, 'base-url')} or SIMIA_{role.upper()}_BASE_URL (in Python {_keyword(role, 'base_url')})"
        fix = f"Set {names} for a server of your own, or OPENAI_API_KEY."
        raise InputError("there is neither an endpoint nor a key", where=_where(role), fix=fix)
    return Endpoint(base_url=url, api_key=key or NO_KEY)


def configured(
    role: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    client: object | None = None,
    environ: Mapping[str, str] | None = None,
) -> bool:
    """Whether both model and endpoint of a role are configured.

    Args:
        role: ``simulator``, ``user``, ``judge`` or ``policy``.
        model: As in `resolve_model`.
        base_url: As in `resolve_endpoint`.
        api_key: As in `resolve_endpoint`.
        client: As in `resolve_endpoint`.
        environ: The environment variables; default those of the process.
    """
    try:
        resolve_model(role, model, environ)
        resolve_endpoint(role, base_url=base_url, api_key=api_key, client=client, environ=environ)
    except InputError:
        return False
    return True


def _variable(role: str, name: str, environ: Mapping[str, str]) -> str | None:
    """The role's own variable; otherwise the variable for all roles except the policy.

    The escalation model falls back to the simulator's variable first.
    """
    own = environ.get(f"SIMIA_{role.upper()}_{name}")
    if not own and role == "escalation":
        own = environ.get(f"SIMIA_SIMULATOR_{name}")
    return own or (None if role == "policy" else environ.get(f"SIMIA_{name}")) or None


@lru_cache(maxsize=64)
def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def _is_host(host: str) -> bool:
    """Whether a text is a well-formed host name or IP address; it is not resolved."""
    if ":" in host:
        return True
    labels = host.removesuffix(".").split(".")
    return all(0 < len(label) <= _LONGEST_LABEL for label in labels) and not any(char.isspace() for char in host)


def _checked_client(client: Any, role: str) -> Any:
    if not all(hasattr(client, name) for name in ("post", "base_url", "api_key")) or not _is_async(client):
        fix = "Pass an openai.AsyncOpenAI or openai.AsyncAzureOpenAI."
        raise InputError(f"{type(client).__name__} is not an OpenAI client", where=_where(role), fix=fix)
    return client


def _is_async(client: Any) -> bool:
    from inspect import iscoroutinefunction

    return iscoroutinefunction(type(client).post)


def _option(role: str, name: str) -> str:
    return f"--{name}" if role == "simulator" else f"--{role}-{name}"


def _keyword(role: str, name: str) -> str:
    if role in ("simulator", "policy"):
        return f"{name}="
    return f"roles={{'{role}': {{'model': NAME}}}}" if name == "model" else f"base_urls={{'{role}': URL}}"


def _where(role: str) -> str:
    return "policy 'llm'" if role == "policy" else f"the {role}'s model"
