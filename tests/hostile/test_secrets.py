"""Servers that repeat what they were sent: no secret reaches terminal, log, record, cassette, report or picture."""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from simia_gym.common.secrets import forms, without_secrets
from simia_gym.types import JsonObject

from ..cli.conftest import Simia, desk, simia
from ..cli.servers import replying
from ..sweeps import sweep

__all__ = ["desk", "simia"]

KEY, PASSWORD, SIGNATURE = "sk-a/very+secret=key", "hid/den word", "s3c"
SECRETS = {"key": (KEY, f"sig={SIGNATURE}"), "password": (PASSWORD, f"me:{PASSWORD}", f"sig={SIGNATURE}")}
Say = Callable[[str], tuple[int, JsonObject]]


def choice(message: JsonObject, **more: Any) -> tuple[int, JsonObject]:
    return 200, {"model": "m", "choices": [{"finish_reason": "stop", "message": message}], **more}


def calls(said: str) -> tuple[int, JsonObject]:
    function = {"name": "find", "arguments": json.dumps({"words": said})}
    return choice({"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]})


SAYS: dict[str, Say] = {
    "text": lambda said: choice({"role": "assistant", "content": said}),
    "thinking": lambda said: choice({"role": "assistant", "content": f"<think>{said}</think>Hello"}),
    "field": lambda said: choice({"role": "assistant", "content": "Hello", "reasoning": said}),
    "calls": calls,
    "model": lambda said: choice({"role": "assistant", "content": "Hello"}, model=said),
    "reason": lambda said: (200, {"choices": [{"finish_reason": said, "message": {"content": ""}}]}),
    "refusal": lambda said: choice({"role": "assistant", "content": "", "refusal": said}),
    "error 200": lambda said: (200, {"error": {"message": said}}),
    "no completion": lambda said: (200, {"said": said}),
    "error 400": lambda said: (400, {"error": {"message": said, "code": said, "param": said}}),
    "error 401": lambda said: (401, {"detail": said}),
    "error 402": lambda said: (402, {"error": {"message": "no credit", "code": said}}),
    "error 404": lambda said: (404, {"error": said}),
    "error 429": lambda said: (429, {"error": {"message": said, "type": said}}),
    "error 500": lambda said: (500, {"message": said}),
    "redirect": lambda said: (302, {"message": said}),
}


def repeating(say: Say, way: str = "key", after: int = 0) -> AbstractContextManager[str]:
    """A server that says what it was sent, in every form; the first answers are harmless. Yields host and port."""
    answers = itertools.count()

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, bytes, dict[str, str]]:
        plain = [form for secret in SECRETS[way] for form in forms(secret) if "\\" not in form]
        sent = " | ".join([request.path, *request.headers.values(), *plain])
        status, body = say(sent) if next(answers) >= after else SAYS["text"]("Hello")
        return status, json.dumps(body).encode(), {"Location": f"http://127.0.0.1:9/{quote(KEY, safe='')}"}

    return replying(answer)


def leaks(text: str, way: str = "key") -> list[str]:
    return [form for secret in SECRETS[way] for form in forms(secret) if form in text]


@pytest.mark.parametrize("say", SAYS.values(), ids=SAYS)
@pytest.mark.parametrize("way", sweep(["key", "password"], 1))
@pytest.mark.sampled
def test_nothing_that_was_sent_is_written(
    say: Say, way: str, desk: str, simia: Simia, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with repeating(say, way, after=1) as host:
        user = "" if way == "key" else f"me:{quote(PASSWORD, safe='')}@"
        if way == "key":
            monkeypatch.setenv("SIMIA_POLICY_API_KEY", KEY)
        url = f"http://{user}{host}/v1?sig={SIGNATURE}"
        words = ("--policy", "llm", "--policy-model", "m", "--policy-base-url", url, "--role", "policy.retries=0")
        files = ("--record-cassette", "c.jsonl", "--svg", "p.svg", "--out", "r.jsonl")
        done = simia("rollout", desk, "--episodes", 2, *words, *files, "--verbose")
        shown = simia("show", "r.jsonl")
    written = {path.name: path.read_text() for path in Path().glob("*.*")}
    assert {"r.jsonl", "c.jsonl"} <= written.keys()
    for name, text in {**written, "out": done.out, "err": done.err, "show": shown.out, "log": caplog.text}.items():
        assert not leaks(text, way), name


@pytest.mark.parametrize("before", ["", ":", "me:", "user:", "Bearer "])
def test_a_secret_within_what_is_encoded(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMIA_API_KEY", KEY)
    text = b64encode(f"{before}{KEY}{before}".encode()).decode()
    left = without_secrets(text)
    assert "[secret]" in left
    assert len(text) - len(left.replace("[secret]", "")) >= len(KEY) * 8 // 6 - 1


def test_a_command_to_continue_has_no_password(desk: str, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    with repeating(SAYS["error 401"], "password", after=1) as host:
        url = f"http://me:{quote(PASSWORD, safe='')}@{host}/v1?sig={SIGNATURE}"
        words = ["rollout", desk, "--policy", "llm", "--policy-model", "m", f"--policy-base-url={url}"]
        monkeypatch.setattr("sys.argv", ["simia", *words])
        done = simia(*words, "--concurrency", 1, "--group", 4)
    assert f"--policy-base-url=http://***@{host}/v1?sig=***" in done.out
    assert not leaks(done.out + done.err, "password")


@pytest.mark.slow
def test_doctor_repeats_nothing(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMIA_API_KEY", KEY)
    for say in SAYS.values():
        with repeating(say) as host:
            done = simia("doctor", "--model", "m", "--base-url", f"http://{host}/v1?sig={SIGNATURE}")
        assert not leaks(done.out + done.err)


def test_a_proxy_that_repeats_its_password(desk: str, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    basic = b64encode(f"me:{PASSWORD}".encode()).decode()
    with repeating(lambda said: (407, {"message": basic + said}), "password") as host:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:{quote(PASSWORD, safe='')}@{host}")
        words = ("--policy", "llm", "--policy-model", "m", "--policy-base-url", "https://model.invalid/v1")
        done = simia("rollout", desk, "--episodes", 1, *words)
    assert done.code == 2
    assert not leaks(done.out + done.err, "password")
