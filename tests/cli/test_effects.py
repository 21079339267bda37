"""Options that could change nothing are refused, each by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.errors import InputError

from .conftest import Simia, tables_of
from .servers import answering

RETAIL = "simia/retail-v0"
PLACE = ("--base-url", "http://127.0.0.1:9/v1")
LLM = ("--simulator", "llm", "--model", "m", *PLACE)
WITHOUT_EFFECT: list[tuple[tuple[object, ...], str, str]] = [
    ((*LLM, "--route", "get_order_details=world"), "--route", "--simulator hybrid"),
    (("--route", "get_order_details=llm"), "--route", "--simulator hybrid"),
    (("--model", "foo"), "--model", "--base-url"),
    (PLACE, "--base-url", "--model"),
    (("--simulator", "world", "--model", "foo", *PLACE), "--model", "--simulator"),
    (("--simulator", "hybrid", "--model", "m", *PLACE), "--route", "The tools are: "),
    (("--simulator", "world", "--shadow"), "--shadow", "--simulator"),
    (("--shadow",), "--shadow", "--simulator"),
    (("--replay-cassette", "c.jsonl"), "--replay-cassette", "--simulator"),
    (("--record-cassette", "new.jsonl"), "--record-cassette", "--policy llm"),
    (("--no-pins",), "--no-pins", "--simulator"),
    (("--max-calls", 3), "--max-calls", "--policy llm"),
    (("--replay-from", "r.jsonl"), "--replay-from", "--simulator replay"),
    (("--votes", 3), "--votes", "--judge llm"),
    (("--role", "judge.temperature=1"), "--role judge", "--judge llm"),
    (("--judge-model", "m"), "--judge-model", "--judge llm"),
    (("--judge-base-url", "http://127.0.0.1:9/v1"), "--judge-base-url", "--judge llm"),
    (("--role", "user.temperature=1"), "--role user", "--user llm"),
    (("--user-model", "m"), "--user-model", "--user llm"),
    (("--role", "simulator.temperature=1"), "--role simulator", "--simulator"),
    (("--role", "escalation.model=big"), "--role escalation", "--simulator"),
    (("--escalation-base-url", "http://127.0.0.1:9/v1"), "--escalation-base-url", "--simulator"),
    ((*LLM, "--escalation-base-url", "http://127.0.0.1:9/v1"), "--role escalation.model", "--role escalation.model="),
    (("--strategy", "reference"), "--strategy", "--simulator"),
    (("--strategy", "ledger", "--simulator", "world"), "--strategy", "--simulator"),
    ((*LLM, "--role", "escalation.temperature=1"), "--role escalation.model", "--role escalation.model=NAME"),
]


@pytest.mark.parametrize(("words", "where", "fix"), WITHOUT_EFFECT, ids=[str(case[0]) for case in WITHOUT_EFFECT])
def test_an_option_without_effect_is_refused(words: tuple[object, ...], where: str, fix: str, simia: Simia) -> None:
    Path("c.jsonl").write_text("")
    Path("r.jsonl").write_text("")
    result = simia("rollout", RETAIL, *words, "--episodes", 1)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"simia: error: {where}: ")
    assert fix in result.err
    assert result.err.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["c.jsonl", "r.jsonl"]


def test_variables_of_the_environment_are_no_options(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMIA_MODEL", "m")
    monkeypatch.setenv("SIMIA_JUDGE_MODEL", "m")
    monkeypatch.setenv("SIMIA_BASE_URL", "http://127.0.0.1:9/v1")
    assert simia("rollout", RETAIL, "--simulator", "world", "--episodes", 1).code == 0


BAD_KEYWORDS: list[tuple[dict[str, Any], str]] = [
    ({"model": "m"}, "model: nothing is played by a model. Add base_url"),
    ({"base_url": "http://127.0.0.1:9/v1"}, "base_url: nothing is played by a model. Add model"),
    ({"votes": 3}, "Add judge='llm'"),
    ({"roles": {"user": {"temperature": 1.0}}}, r"roles\.user: no model plays the user"),
    ({"routes": {"calculate": "llm"}}, "Add simulator='hybrid'"),
    ({"simulator": "llm"}, r"--model or SIMIA_SIMULATOR_MODEL; in Python model="),
    ({"simulater": "llm"}, "Did you mean 'simulator'"),
]


@pytest.mark.parametrize(("settings", "says"), BAD_KEYWORDS, ids=[str(case[0]) for case in BAD_KEYWORDS])
def test_the_same_from_python(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        gym.make(RETAIL, **settings)


def test_settings_of_no_effect_are_none() -> None:
    with pytest.raises(InputError, match="replay_from"):
        EnvConfig(RETAIL, replay_from="r.jsonl")


def test_record_and_cassette_are_two_files(simia: Simia) -> None:
    for out, cassette in (("a.jsonl", "./a.jsonl"), ("a.jsonl", "a.times.jsonl")):
        result = simia("rollout", RETAIL, *LLM, "--out", out, "--record-cassette", cassette)
        assert (result.code, list(Path().iterdir())) == (2, [])
        assert "--record-cassette: a." in result.err
        assert "is the record of this rollout" in result.err


def test_a_domain_without_code_has_no_expert(desk: str, simia: Simia) -> None:
    manifest = Path(desk, "domain.yaml")
    text = manifest.read_text()
    assert "  expert:" in text
    manifest.write_text(text.replace("  expert:", "  clerk:"))
    result = simia("rollout", desk)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "--policy: desk has no expert. Give --policy llm" in result.err


def test_another_user_than_the_domains_own_is_named_so(simia: Simia) -> None:
    words = ("rollout", RETAIL, "--episodes", 1, "--out", "a.jsonl")
    assert simia(*words).code == 0
    again = (*words, "--simulator", "world", "--user", "llm", "--model", "m", *PLACE, "--resume")
    with answering(503, b"{}") as address:
        result = simia(*again[:-2], f"http://{address}/v1", "--resume", "--role", "user.retries=0")
    assert "was written with the domain's own user, and this run has user='llm'" in result.err


def test_columns_make_room_for_the_names_of_kinds(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    result = simia("rollout", RETAIL, "--episodes", 12)
    assert "refuse_cancel_processed" in tables_of(result.out)["task kind"]
