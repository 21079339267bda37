"""Cassettes: recorded over real HTTP, played back without anybody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.llm.cassette import Cassette
from simia_gym.llm.types import ChatRequest

from ..model_server import Answer, ModelServer
from .server import FORM, SECRET, error, model, request, says, waits


def numbered() -> Answer:
    """Another answer each time."""
    numbers: Iterator[int] = iter(range(1000))
    return lambda asked: says(f'<think>x</think>{{"n": {next(numbers)}}}')(asked)


async def test_replay_gives_the_same_replies_and_asks_nobody(server: ModelServer, tmp_path: Path) -> None:
    server.answers = [numbered()]
    path = tmp_path / "run.jsonl"
    recording = Cassette(path, "record")
    asked = [request(FORM, seed=seed, scope=scope, ordinal=n) for scope in "ab" for n, seed in enumerate((1, 2))]
    asked.append(request(None, "Hi", scope="c"))
    one = recording.wrap(model(server), "simulator")
    first = [await one.complete(each) for each in asked]
    recording.close()
    before = len(server.bodies)
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{line}\n" for line in reversed(lines)))
    playing = Cassette(path, "replay")
    assert len(playing) == 5
    other = playing.wrap(None, "simulator", name="m")
    assert [await other.complete(each) for each in asked] == first
    assert await asyncio.gather(*(other.complete(each) for each in asked)) == first
    assert len(server.bodies) == before


async def test_nothing_secret_and_no_address_or_time_is_kept(server: ModelServer, tmp_path: Path) -> None:
    server.answers = [says('{"n": 1}'), error(401)]
    path = tmp_path / "run.jsonl"
    one = Cassette(path, "record").wrap(model(server, retries=0), "judge")
    await one.complete(request(FORM))
    with pytest.raises(Fault) as caught:
        await one.complete(request(FORM, ordinal=1))
    text = path.read_text()
    assert SECRET not in text
    assert "127.0.0.1" not in text
    kept = [json.loads(line) for line in text.splitlines()]
    assert set(kept[0]) == {"v", "key", "role", "scope", "ordinal", "model", "reply"}
    assert set(kept[0]["reply"]) == {"raw", "message", "finish_reason", "model", "usage", "read"}
    with pytest.raises(Fault) as again:
        await Cassette(path, "replay").wrap(None, "judge", name="m").complete(request(FORM, ordinal=1))
    # What a record holds of the fault is the same in both runs.
    assert str(again.value) == str(caught.value)
    assert again.value.kind == "auth"


@pytest.mark.parametrize(
    "other",
    [
        request(FORM, "Ho", seed=1, scope="a"),
        request(None, seed=1, scope="a"),
        request(FORM, seed=2, scope="a"),
        request(FORM, seed=1, scope="b"),
        request(FORM, seed=1, scope="a", ordinal=1),
        request(FORM, seed=1, scope="a", body={"tools": []}),
    ],
)
async def test_whatever_differs_is_a_miss(server: ModelServer, tmp_path: Path, other: ChatRequest) -> None:
    server.answers = [says('{"n": 1}')]
    path = tmp_path / "run.jsonl"
    asked = request(FORM, seed=1, scope="a")
    await Cassette(path, "record").wrap(model(server), "user").complete(asked)
    playing = Cassette(path, "replay")
    assert (await playing.wrap(None, "user", name="m").complete(asked)).data == {"n": 1}
    for role, name, each in (("user", "m", other), ("judge", "m", asked), ("user", "n", asked)):
        with pytest.raises(Fault, match=f"request {each.ordinal} of the {role} in scope '{each.scope}'") as caught:
            await playing.wrap(None, role, name=name).complete(each)
        assert (caught.value.kind, caught.value.role) == ("cassette_miss", "simulator")


@pytest.mark.parametrize("first_gives_up", [False, True])
async def test_the_same_request_at_once_is_asked_once(
    server: ModelServer, tmp_path: Path, first_gives_up: bool
) -> None:
    server.answers = [waits(0.1, numbered())]
    one = Cassette(tmp_path / "run.jsonl", "record").wrap(model(server), "user")
    first, *others = [asyncio.create_task(one.complete(request(FORM))) for _ in range(5)]
    await asyncio.sleep(0.02)
    if first_gives_up:
        first.cancel()
    replies = await asyncio.wait_for(asyncio.gather(*others), 5)
    assert len({reply.raw for reply in replies}) == 1
    assert len(server.bodies) == 1 + first_gives_up


async def test_a_policy_may_answer_otherwise_the_second_time(server: ModelServer, tmp_path: Path) -> None:
    server.answers = [numbered()]
    path = tmp_path / "run.jsonl"
    one = Cassette(path, "record").wrap(model(server), "policy")
    assert [(await one.complete(request(FORM))).data for _ in range(3)] == [{"n": 0}, {"n": 1}, {"n": 2}]
    other = Cassette(path, "replay").wrap(None, "policy", name="m")
    assert [(await other.complete(request(FORM))).data for _ in range(3)] == [{"n": 0}, {"n": 1}, {"n": 2}]
    with pytest.raises(Fault) as caught:
        await other.complete(request(FORM))
    assert caught.value.kind == "cassette_miss"


async def test_two_policies_that_cannot_be_told_apart_are_refused(server: ModelServer, tmp_path: Path) -> None:
    server.answers = [waits(0.05, numbered())]
    one = Cassette(tmp_path / "run.jsonl", "record").wrap(model(server), "policy")
    first = asyncio.create_task(one.complete(request(FORM)))
    await asyncio.sleep(0.01)
    with pytest.raises(InputError, match="scope of its own"):
        await one.complete(request(FORM))
    assert (await first).data == {"n": 0}


async def test_resuming_asks_only_what_is_missing(server: ModelServer, tmp_path: Path) -> None:
    server.answers = [says('{"n": 1}'), error(401), says('{"n": 3}'), says('{"n": 4}')]
    path = tmp_path / "run.jsonl"
    cassette = Cassette(path, "record")
    one = cassette.wrap(model(server, retries=0), "user")
    await one.complete(request(FORM))
    with pytest.raises(Fault):
        await one.complete(request(FORM, ordinal=1))
    await one.complete(request(FORM, ordinal=2))
    cassette.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(InputError, match="exists already"):
        Cassette(path, "record")
    with pytest.raises(InputError, match="torn"):
        Cassette(path, "replay")
    server.answers = [says('{"n": 9}')]
    before = len(server.bodies)
    cassette = Cassette(path, "record", resume=True)
    one = cassette.wrap(model(server, retries=0), "user")
    assert [(await one.complete(request(FORM, ordinal=n))).data for n in range(3)] == [{"n": 1}, {"n": 9}, {"n": 9}]
    cassette.close()
    assert len(server.bodies) == before + 2
    other = Cassette(path, "replay").wrap(None, "user", name="m")
    assert [(await other.complete(request(FORM, ordinal=n))).data for n in range(3)] == [{"n": 1}, {"n": 9}, {"n": 9}]


async def test_the_file_must_be_whole_and_unambiguous(server: ModelServer, tmp_path: Path) -> None:
    server.answers = [says('{"n": 1}')]
    path = tmp_path / "run.jsonl"
    await Cassette(path, "record").wrap(model(server), "user").complete(request(FORM))
    line = json.loads(path.read_text())
    other: dict[str, Any] = json.loads(path.read_text())
    other["reply"]["raw"] = '{"n": 2}'
    for text, words in (
        (f"{json.dumps(line)}\n{json.dumps(other)}\n", "another answer"),
        (f"{json.dumps(line)}\nno\n", ":2: the line is no JSON"),
        (f"{json.dumps({**line, 'reply': {}})}\n", ":1: the line is none of a cassette"),
        (json.dumps(line).replace('"prompt":', '"more": 1, "prompt":') + "\n", ":1: the line is none of a cassette"),
        (f"{json.dumps({**line, 'v': 99})}\n", ":1: the line is none of a cassette"),
        (f"{json.dumps({**line, 'reply': {**line['reply'], 'read': [1]}})}\n", ":1: the line is none of a cassette"),
        (f"{json.dumps({**line, 'reply': {**line['reply'], 'unread': [{}]}})}\n", ":1: the line is none of a cassette"),
        ("[]\n", ":1: the line is none of a cassette"),
        (f"{json.dumps({**line, 'reply': None, 'fault': {'kind': 1}})}\n", ":1: the line is none of a cassette"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            Cassette(path, "replay")
    path.write_text(f"{json.dumps(line)}\n{json.dumps(line)}\n")
    assert len(Cassette(path, "replay")) == 1
    path.write_text(json.dumps(line).replace('"raw":', '"more": 1, "raw":') + "\n")  # of a later version
    assert (await Cassette(path, "replay").wrap(None, "user", name="m").complete(request(FORM))).data == {"n": 1}


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Cassette(tmp_path / "none.jsonl", "replay")
    with pytest.raises(FileNotFoundError):
        Cassette(tmp_path / "none" / "run.jsonl", "record")
    with pytest.raises(InputError, match="no mode"):
        Cassette(tmp_path / "run.jsonl", "listen")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no model to record"):
        Cassette(tmp_path / "run.jsonl", "record").wrap(None, "user")
