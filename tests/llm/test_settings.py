"""Which model a role asks, and where."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.errors import InputError
from simia_gym.llm.settings import Endpoint, ModelSettings, configured, resolve_endpoint, resolve_model

from .server import SECRET as KEY


def test_only_what_differs_is_written() -> None:
    assert ModelSettings().to_json() == {}
    extra = {"max_completion_tokens": 5, "stop_token_ids": [1], "key": 1, "kwargs": {"secret": True}}  # no secrets
    data = {"model": "m", "temperature": 0.5, "structured": "none", "extra": extra, "seed": False}
    assert ModelSettings.from_json(data).to_json() == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"model": ""}, "model is ''"),
        ({"temperature": -1}, "temperature is -1"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"timeout": 0}, "timeout is 0"),
        ({"structured": "xml"}, "structured is 'xml'"),
        ({"extra": {"messages": []}}, "extra sets messages"),
        ({"extra": {"api_key": "hidden"}}, "extra holds a secret, 'api_key'"),
        ({"extra": {"tools": [{"headers": {"X-Api-Key": "hidden"}}]}}, "extra holds a secret, 'X-Api-Key'"),
        ({"extra": {"upstream": {"Authorization": "hidden"}}}, "extra holds a secret, 'Authorization'"),
        ([], "no object"),
    ],
)
def test_impossible_settings(data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        ModelSettings.from_json(data, where="roles.user")
    assert str(caught.value).startswith("roles.user: ")
    assert "hidden" not in str(caught.value)


def test_what_answers_depend_on() -> None:
    settings = ModelSettings(model="m", temperature=0.5, retries=9, timeout=3.0, price_in=1.0, concurrency=2)
    assert settings.to_answers() == {"model": "m", "temperature": 0.5}


def set_all(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_the_most_specific_variable_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, OPENAI_BASE_URL="http://a/v1", OPENAI_API_KEY="key-a")
    assert resolve_endpoint("user") == Endpoint("http://a/v1", "key-a")
    set_all(monkeypatch, SIMIA_BASE_URL="http://b/v1", SIMIA_API_KEY="key-b", SIMIA_MODEL="b")
    assert resolve_endpoint("user") == Endpoint("http://b/v1", "key-b")
    assert resolve_model("user") == "b"
    set_all(monkeypatch, SIMIA_USER_BASE_URL="http://c/v1", SIMIA_USER_API_KEY="key-c", SIMIA_USER_MODEL="c")
    assert resolve_endpoint("user") == Endpoint("http://c/v1", "key-c")
    assert resolve_model("user") == "c"
    assert resolve_endpoint("judge") == Endpoint("http://b/v1", "key-b")
    assert resolve_endpoint("user", base_url="http://d/v1", api_key="d") == Endpoint("http://d/v1", "d")
    assert resolve_model("user", "d") == "d"
    # The policy is not a part of the environment.
    assert resolve_endpoint("policy") == Endpoint("http://a/v1", "key-a")
    with pytest.raises(InputError, match="--policy-model or SIMIA_POLICY_MODEL"):
        resolve_model("policy")


def test_variables_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not configured("simulator")
    monkeypatch.setenv("SIMIA_MODEL", "m")
    assert not configured("simulator")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert configured("simulator")
    assert resolve_endpoint("simulator").url == "https://api.openai.com/v1"


HOSTS = [
    "https://exa mple/v1",
    "http://exa\u00a0mple/v1",
    "http://my..host:8000/v1",
    f"http://{'a' * 64}/v1",
    "http://.",
]


@pytest.mark.parametrize("url", ["http://a/v1", "http://my_host./v1", "http://[::1]:80/v1", "http://\u00e9.example/v1"])
def test_addresses(url: str) -> None:
    assert resolve_endpoint("judge", base_url=url).base_url == url


def test_white_space_around_a_key_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_endpoint("judge", api_key=f" {KEY}\n").api_key == KEY
    with pytest.raises(InputError, match="neither an endpoint nor a key"):
        resolve_endpoint("judge", api_key=" \n")
    set_all(monkeypatch, SIMIA_API_KEY=f"{KEY}\r\n")
    assert resolve_endpoint("judge").api_key == KEY


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://x/v1", "http://", "http://:80", "http://x:99999/v1", "x y", *HOSTS]
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(InputError, match="not the URL"):
        resolve_endpoint("judge", base_url=url)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match=r"the judge's model: .*neither.*--judge-base-url or SIMIA_JUDGE_BASE_URL"):
        resolve_endpoint("judge")
    with pytest.raises(InputError, match="--model or SIMIA_SIMULATOR_MODEL"):
        resolve_model("simulator")


def test_secrets_do_not_show() -> None:
    endpoint = Endpoint(f"https://me:{KEY}@host:8443/v1/?version=2024&key=hidden-word#top", "other-secret-key")
    for text in (repr(endpoint), str(endpoint), endpoint.url, endpoint.host):
        assert not any(secret in text for secret in (KEY, "hidden-word", "other-secret-key"))
    assert (endpoint.url, endpoint.host) == ("https://host:8443/v1", "host:8443")
    assert Endpoint("https://host/v1", f"{KEY}\n").secrets == (KEY,)
    assert endpoint.address("/models") == "https://host:8443/v1/models?version=2024&key=hidden-word"
    assert set(endpoint.secrets) == {f"me:{KEY}", KEY, "hidden-word", "other-secret-key", "version=2024"}
    for address in (f"me:{KEY}@host/v1", f"host/v1?key={KEY}"):
        with pytest.raises(InputError) as caught:
            resolve_endpoint("user", base_url=address)
        assert KEY not in str(caught.value)
