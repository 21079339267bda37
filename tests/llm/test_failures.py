"""Answers that are no success are understood whatever their layout."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate

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


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000.", "context_length"),
        ("Input length (9000) exceeds model's maximum context length (8192).", "context_length"),
        ("prompt is too long: 300000 tokens > 200000 maximum", "context_length"),
        ("the request exceeds the available context size", "context_length"),
        ("The response was filtered due to Azure OpenAI's content management policy.", "content_filter"),
        ("The model `gpt-none` does not exist or you do not have access to it.", "not_found"),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "context_length"),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", "context_length"),
        ("Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", "context_length"),
        ("API key not valid. Please pass a valid API key.", "auth"),
        ("the length of the array is wrong", "bad_request"),
        ("unknown field", "bad_request"),
    ],
)
def test_what_a_400_means(text: str, kind: str) -> None:
    failure = of_status(400, b'{"error": {"message": "%b"}}' % text.encode(), {})
    assert (failure.kind, failure.again) == (kind, False)


@pytest.mark.parametrize(
    ("status", "body", "kind", "again"),
    [
        (
            400,
            '[{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}]',
            "auth",
            False,
        ),
        (
            422,
            '{"error": "`inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "validation"}',
            LONG,
            False,
        ),
        (500, '{"error": {"message": "the request exceeds the available context size."}}', LONG, False),
        (500, '{"error": {"message": "CUDA error: context is destroyed"}}', "server_error", True),
        (503, '{"error": {"message": "the request exceeds the available context size."}}', "server_error", True),
        (402, '{"error": {"message": "Insufficient credits", "code": 402}}', "rate_limit", False),
    ],
)
def test_what_other_servers_mean(status: int, body: str, kind: str, again: bool) -> None:
    failure = of_status(status, body.encode(), {"retry-after": "1"})
    assert (failure.kind, failure.again, failure.wait) == (kind, again, 1 if again else None)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 409, 425, 408, 429])
def test_what_may_pass(status: int) -> None:
    assert of_status(status, b"", {"retry-after": "2"}).wait == 2
    assert of_status(status, b"", {}).again


def test_pauses() -> None:
    assert retry_after({}) is None
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after": "0"}) == 0
    assert retry_after({"retry-after": "9999"}) == 60
    assert retry_after({"retry-after": "-1"}) is None
    assert retry_after({"retry-after": "nan"}) is None
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}) is None
    assert retry_after({"retry-after": f"Fri, 31 Dec 9{'9' * 30} 23:59:59 GMT"}) is None
    assert retry_after({"retry-after": f"Fri, 31 Dec 2030 23:59:59 +{'9' * 30}"}) is None
    assert retry_after({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert retry_after({"retry-after": formatdate(time.time() + 10, usegmt=True)}) == pytest.approx(10, abs=9)
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1))
    assert retry_after({"retry-after": past}) == 0


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
