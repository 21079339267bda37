"""From traces to trajectories: each stage with a real server, what is paid for is kept, and what is wrong is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.cli.app import run as main
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.oracle.server import OracleServer
from simia_gym.record.records import read_records
from simia_gym.synth.domains import subject_of_domain

ENV = "simia/retail-v0"
pytest.importorskip("datasketch")


@pytest.fixture(scope="module")
def server() -> Iterator[OracleServer]:
    with serve_in_thread() as served:
        yield served


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> dict[str, object]:
    assert main(["synth", *map(str, words), "--json"]) == code
    said = capsys.readouterr()
    value: dict[str, object] = json.loads(said.out.splitlines()[-1]) if said.out.strip() else {"said": said.err}
    return value


def models(server: OracleServer) -> list[str]:
    return ["--model", "oracle", "--base-url", server.base_url]


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def asked(server: OracleServer) -> int:
    return server.counts["requests"].get("teacher", 0)


@pytest.mark.slow
def test_all_stages_and_nothing_is_paid_for_twice(
    server: OracleServer, traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["trajectories", ENV, traces, "--out", out, "--target", 2, *models(server)]
    made = run(capsys, *command)
    kept = rows(out / "trajectories.jsonl")
    assert made["missing"] == {}
    assert made["kept_in_all"] == len(kept) >= 2
    assert len({row["content"] for row in kept}) == len(kept)
    assert all(row["proven"] is False and row["seed_id"] and row["tools"] for row in kept)
    assert (out / "report.json").is_file()
    before, first = asked(server), (out / "trajectories.jsonl").read_bytes()
    run(capsys, *command)
    assert asked(server) == before
    assert (out / "trajectories.jsonl").read_bytes() == first
    drafts = out / "drafts.jsonl"
    lines = drafts.read_bytes().splitlines(keepends=True)
    drafts.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])  # as a killed process leaves it
    run(capsys, "simulate", ENV, "--out", out, "--target", 2, *models(server))
    assert asked(server) == before + 1
    assert (out / "trajectories.jsonl").read_bytes() == first
    run(capsys, "postprocess", ENV, "--out", out, *models(server))
    assert (out / "trajectories.jsonl").read_bytes() == first


def test_played_trajectories_are_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "played"
    made = run(capsys, "trajectories", "simia/webshop-v0", "--way", "played", "--target", 1, "--out", out)
    kept = rows(out / "trajectories.jsonl")
    assert made["missing"] == {}
    assert all(row["proven"] and row["reward"] == 1 for row in kept)
    record = out / "episodes-1.jsonl"
    assert {row["task"] for row in kept} <= {item.task for item in read_records(record)}
    assert main(["replay", str(record)]) == 0


@pytest.mark.parametrize("way", ["single", "played"])
def test_the_system_message_is_that_of_the_prompt(
    way: str, server: OracleServer, traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [traces, *models(server)] if way == "single" else []
    run(capsys, "trajectories", ENV, *given, "--way", way, "--target", 1, "--out", tmp_path, "--prompt", "compact")
    kept = rows(tmp_path / "trajectories.jsonl")
    domain = load_domain(domain_path(ENV))
    assert domain.native_prompts["compact"] != domain.native_prompts["full"]
    assert {row["messages"][0]["content"] for row in kept} == {domain.native_prompts["compact"]}  # type: ignore[index]
    assert {row["prompt"] for row in kept} == {"compact"}


def test_a_judge_reads_what_programs_let_pass(
    server: OracleServer, traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "judged"
    run(capsys, "trajectories", ENV, traces, "--out", out, "--target", 1, "--check", "model", *models(server))
    assert server.counts["requests"]["opinion"] >= 2
    assert all(row["checks"]["judge"]["sound"] for row in rows(out / "trajectories.jsonl"))  # type: ignore[index]


@pytest.mark.parametrize("kind", ["contradiction", "invented_id", "missing_observation", "wrong_total", "cut_end"])
@pytest.mark.slow
def test_a_poor_teacher_fills_no_target(
    kind: str, traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_in_thread(OracleOptions(teacher_mistake_rate=1.0, teacher_mistakes=(kind,))) as poor:  # type: ignore[arg-type]
        words = ["trajectories", ENV, traces, "--out", tmp_path, "--target", 1, "--tries", 2, *models(poor)]
        made = run(capsys, *words, code=1)
    assert made["kept_in_all"] == 0
    assert made["missing"]
    assert rows(tmp_path / "dropped.jsonl")


def test_tools_and_a_policy_alone(
    server: OracleServer, traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    tools = [{"type": "function", "function": dict(tool["function"])} for tool in load_domain(domain_path(ENV)).tools]
    (folder / "tools.json").write_text(json.dumps(tools, default=dict))
    assert "policy" in str(
        run(capsys, "filter", folder, traces, "--out", tmp_path / "o", *models(server), code=2)["said"]
    )
    (folder / "policy.md").write_text("Be right.")
    found = run(capsys, "filter", folder, traces, "--out", tmp_path / "o", *models(server))
    assert found["seeds"] == 1
    prompt = run(capsys, "prompt", folder, "--out", tmp_path / "o")
    assert "Be right." in str(prompt["messages"])
    assert run(capsys, "simulate", folder, "--way", "played", "--out", tmp_path / "o", code=2)


def test_traces_that_are_no_seeds_say_why(
    server: OracleServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(
        '{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "<tool_call>"}]}\n'
        '{"messages": "none"}\n'
    )
    assert run(capsys, "filter", ENV, path, "--seed-format", "openai", "--out", tmp_path / "o", *models(server), code=2)
    dropped = rows(tmp_path / "o" / "seeds_dropped.jsonl")
    assert [item["findings"][0]["code"] for item in dropped] == ["marker_in_text", "unreadable"]  # type: ignore[index]
    assert str(dropped[1]["where"]).endswith("bad.jsonl:2")


def test_a_beginning_may_be_kept(traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_in_thread(OracleOptions(teacher_mistake_rate=1.0, teacher_mistakes=("invented_id",))) as poor:
        words = ["trajectories", ENV, traces, "--out", tmp_path, "--target", 1, "--cut", *models(poor)]
        assert run(capsys, *words)["cut"]
    for row in rows(tmp_path / "trajectories.jsonl"):
        messages: list[dict[str, object]] = row["messages"]  # type: ignore[assignment]
        assert messages[-1]["role"] == "assistant"


def test_without_a_model_it_says_what_to_give(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = str(run(capsys, "trajectories", ENV, traces, "--out", "never", code=2)["said"])
    assert "--model" in said
    assert "--teacher-model" not in said


def test_reading_traces_needs_no_model(traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "filter", ENV, traces, "--out", tmp_path)["seeds"] == 1
    assert "Write the new conversation." in str(run(capsys, "prompt", ENV, "--out", tmp_path)["messages"])


def test_a_folder_is_for_one_seed(traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "filter", ENV, traces, "--out", tmp_path)
    said = str(run(capsys, "filter", ENV, traces, "--out", tmp_path, "--seed", 1, code=2)["said"])
    assert "another seed: 0" in said


def test_options_of_episodes_are_refused_where_none_is_played(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in (("--policy", "random"), ("--max-turns", 3)):
        said = str(run(capsys, "trajectories", ENV, traces, "--out", tmp_path, *option, code=2)["said"])
        assert option[0] in said


def test_a_teacher_that_gives_nothing_ends_the_run_in_one_line(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_in_thread(OracleOptions(model="another")) as server:
        words = ["trajectories", ENV, traces, "--out", tmp_path, "--target", 30, "--concurrency", 4]
        said = str(run(capsys, *words, *models(server), code=2)["said"])
    assert "replies in a row hold nothing" in said
    assert len(said.strip().splitlines()) == 2  # how many seeds there are, and the error
    assert all("fault" in row for row in rows(tmp_path / "drafts.jsonl"))


def test_words_beside_a_call_stay() -> None:
    domain = load_domain(domain_path("simia/os-v0"))
    subject = subject_of_domain("simia/os-v0", domain)
    said = "Think: I look at it first.\n\nAct: bash\n\n```bash\nls\n```"
    messages = [
        {"role": "user", "content": "What is in /root?"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "The output of the OS:\na"},
        {"role": "assistant", "content": "Act: answer(a)"},
    ]
    found = subject.with_calls(messages)
    assert found[1]["tool_calls"][0]["function"]["name"] == "bash_action"
    assert found[1]["content"] == "I look at it first."
    assert found[2]["role"] == "tool"
    assert subject.in_grammar(found) == messages
