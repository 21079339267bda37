"""Prompts as simulators, users and judges write them, by hand; and a client that hides nothing of the wire."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.oracle import OracleServer
from simia_gym.types import JsonObject, Task

NONCE = make_nonce("secret")

Messages = list[JsonObject]


def retail() -> Domain:
    return load_domain(domain_path("simia/retail-v0"))


def data(kind: str, value: Any) -> str:
    return block(kind, NONCE, value)


def about(domain: Domain) -> str:
    value = {"name": domain.name, "version": domain.config.version, "options": dict(domain.options)}
    return data("domain", value)


def about_task(domain: Domain, task: Task) -> str:
    return data("task", {"id": task.id, "digest": domain.prepare(task).digest, "split": task.split})


def system(*parts: str) -> JsonObject:
    return {"role": "system", "content": "\n\n".join(("You do this and that.", *parts))}


def human(*parts: str) -> JsonObject:
    return {"role": "user", "content": "\n".join(parts)}


def model(reply: Any) -> JsonObject:
    return {"role": "assistant", "content": reply if isinstance(reply, str) else json.dumps(reply)}


def ledger_prompt(domain: Domain, tables: Mapping[str, Any], name: str, arguments: Mapping[str, Any]) -> Messages:
    state = {"tables": tables, "missing": []}
    call = {"name": name, "arguments": arguments}
    return [system(about(domain), data("tools", [])), human(data("state", state), data("call", call))]


@dataclass(frozen=True)
class Got:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        content = self.json["choices"][0]["message"]["content"]
        assert isinstance(content, str)
        return content

    @property
    def reply(self) -> Any:
        assert self.status == 200, self.body
        return json.loads(self.text)


def fetch(
    server: OracleServer,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 20,
) -> Got:
    """One request on a connection of its own."""
    parts = urlsplit(server.base_url)
    content = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    with closing(http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=timeout)) as connection:
        connection.request(method, f"{parts.path}{path}", content, sent)
        response = connection.getresponse()
        return Got(response.status, dict(response.getheaders()), response.read())


def ask(server: OracleServer, messages: Sequence[JsonObject], timeout: float = 20, **fields: Any) -> Got:
    """A chat completion."""
    body = {"model": "m", "messages": list(messages), **fields}
    return fetch(server, "POST", "/chat/completions", body, timeout=timeout)
