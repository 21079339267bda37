"""Answers that are no success are understood whatever their layout."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.llm.transport.failures import of_status, one_line, retry_after

DEEP = b"[" * 1000 + b"]" * 1000
LONG = "context_length"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "broken", "code": "x"}}', "broken"),
        (b'{"error": "broken"}', "broken"),
        (b'{"detail": [{"loc": ["body"], "msg": "broken"}]}', "broken"),
        (b'{"object": "error", "message": "broken", "code": 400}', "broken"),
        (b"<html><h1>broken</h1></html>", "broken"),
        (b"broken", "broken"),
        (b"[1]", "[1]"),
        (b'[{"error": {"message": "broken"}}]', "broken"),
        (b'{"error": {"message": %b}}' % DEEP, "nested"),
        (b'{"error": {"message": "broken", "code": %b, "param": %b}}' % (DEEP, DEEP), "broken"),
        (DEEP, "nested"),
        (b"", "no text"),
        (b"\xff\xfe", "HTTP 400"),
    ],
)
def test_the_servers_words_are_found(body: bytes, words: str) -> None:
    failure = of_status(400, body, {})
    assert words in failure.message
    assert (failure.kind, failure.again) == ("bad_request", False)


CODED = '{"error": {"message": "x", "code": "%s"}}'


@pytest.mark.parametrize(
    ("status", "text", "kind", "again"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000.", LONG, False),
        (400, "Input length (9000) exceeds model's maximum context length (8192).", LONG, False),
        (400, "prompt is too long: 300000 tokens > 200000 maximum", LONG, False),
        (400, "the request exceeds the available context size", LONG, False),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", LONG, False),
        (400, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", LONG, False),
        (400, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", LONG, False),
        (400, CODED % "context_length_exceeded", LONG, False),
        (422, '{"error": "`inputs` tokens + `max_new_tokens` must be <= 4096"}', LONG, False),
        (413, "too large", LONG, False),
        (500, "the request exceeds the available context size.", LONG, False),
        (400, "The response was filtered due to Azure OpenAI's content management policy.", "content_filter", False),
        (400, CODED % "content_filter", "content_filter", False),
        (400, "The model `gpt-none` does not exist or you do not have access to it.", "not_found", False),
        (400, "API key not valid. Please pass a valid API key.", "auth", False),
        (400, '[{"error": {"code": 400, "message": "API key not valid."}}]', "auth", False),
        (403, "", "auth", False),
        (400, "the length of the array is wrong", "bad_request", False),
        (400, "unknown field", "bad_request", False),
        (402, '{"error": {"message": "Insufficient credits", "code": 402}}', "rate_limit", False),
        (500, "CUDA error: context is destroyed", "server_error", True),
        (503, "the request exceeds the available context size.", "server_error", True),
        *((status, "", "server_error", True) for status in (502, 504, 529, 409, 425)),
        (408, "", "timeout", True),
        (429, "", "rate_limit", True),
    ],
)
def test_what_an_answer_means(status: int, text: str, kind: str, again: bool) -> None:
    body = text if text[:1] in ("[", "{") else f'{{"error": {{"message": "{text}"}}}}'
    failure = of_status(status, body.encode(), {"retry-after": "1"})
    assert (failure.kind, failure.again, failure.wait) == (kind, again, 1 if again else None)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "9999"}, 60),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": format_datetime(datetime.now(UTC) - timedelta(hours=1))}, 0),
        ({"retry-after": format_datetime(datetime.now(UTC) + timedelta(hours=1))}, 60),
        ({}, None),
        *(({"retry-after": text}, None) for text in ("-1", "nan", "soon", "Fri, 31 Dec 99999 23:59:59 GMT")),
        ({"retry-after": f"Fri, 31 Dec 9{'9' * 30} 23:59:59 GMT"}, None),
        ({"retry-after": f"Fri, 31 Dec 2030 23:59:59 +{'9' * 30}"}, None),
    ],
)
def test_pauses(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers) == wait


@given(st.text(max_size=400), st.sampled_from(["a-secret", "other"]))
def test_shown_texts_are_one_short_line_without_secrets(text: str, secret: str) -> None:
    line = one_line(f"{text}{secret}{text}", [secret])
    assert secret not in line.replace("***", "")
    assert line.isprintable()
    assert len(line) <= 300


@given(st.integers(300, 599), st.binary(max_size=200), st.dictionaries(st.just("retry-after"), st.text(max_size=20)))
def test_any_answer_is_classified(status: int, body: bytes, headers: dict[str, str]) -> None:
    failure = of_status(status, body, headers)
    assert failure.kind
    assert failure.wait is None or 0 <= failure.wait <= 60
