"""Data sets from elsewhere, which say less of themselves than those written here; and domains of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym import read_records
from simia_gym.cli.app import run as main
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.errors import InputError
from simia_gym.rl.sft.files import read_trajectories, write_trajectories
from simia_gym.rl.sft.gather import from_experts, from_files

from .libraries import need

RETAIL = "simia/retail-v0"
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Where is my order?"},
    {"role": "assistant", "content": "It is lost."},
]


def rows(path: Path, *given: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps({"messages": TALK, **row}) + "\n" for row in given))
    return path


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_row_that_names_no_reward_is_good_and_one_that_names_no_prompt_is_of_any(ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        need("datasets")
    given = rows(tmp_path / "rows.jsonl", {"task": "a"}, {"task": "b", "reward": 0.5, "prompt": None})
    path = tmp_path / f"again.{ending}"
    for source in (given, path):
        found = from_files([source])
        assert [(item.task, item.reward, item.prompt) for item in found.train] == [("a", 1.0, "")]
        assert found.below == 1
        write_trajectories(path, [*found.train, replace(found.train[0], task="b", reward=0.5)])


def test_a_row_that_only_says_that_it_failed_is_not_good(tmp_path: Path) -> None:
    found = from_files([rows(tmp_path / "rows.jsonl", {"success": True}, {"success": False}, {})])
    assert (len(found.train), found.below) == (2, 1)
    with pytest.raises(InputError, match=r"rows.jsonl:1: its reward is 'much'"):
        from_files([rows(tmp_path / "rows.jsonl", {"reward": "much"})])


def test_a_training_takes_rows_that_name_no_prompt_and_refuses_those_of_another(tmp_path: Path) -> None:
    need("torch", "transformers", "trl")
    from simia_gym.rl.sft.run import gather
    from simia_gym.rl.sft.settings import SFTSettings

    path = rows(tmp_path / "rows.jsonl", {})
    settings = SFTSettings(envs=(), policy="p", prompt="compact", data=(str(path),))
    assert len(gather(settings).train) == 1
    rows(path, {}, {"prompt": "full"})
    with pytest.raises(InputError, match="1 conversations were held with another prompt"):
        gather(settings)


@pytest.mark.parametrize(
    "named", [{"env": RETAIL}, {"env": "retail"}, {"domain": "retail"}, {"domain": "simia/retail-v0"}]
)
@pytest.mark.parametrize("prompt", ["full", "compact"])
def test_a_row_without_system_message_gets_that_of_the_environment_it_names(
    named: dict[str, str], prompt: str, tmp_path: Path
) -> None:
    path = rows(tmp_path / "rows.jsonl", {**named, "messages": TALK[1:]}, {"messages": TALK})
    first, second = from_files([path], prompt=prompt).train
    assert first.messages[0] == {"role": "system", "content": load_domain(domain_path(RETAIL)).prompts[prompt]}
    assert first.prompt == prompt
    assert [*first.messages[1:]] == TALK[1:]
    assert (second.messages, second.prompt) == (TALK, "")


def test_a_row_without_system_message_is_of_the_one_environment_that_is_given_or_refused(tmp_path: Path) -> None:
    nameless = rows(tmp_path / "rows.jsonl", {}, {"messages": TALK[1:]})
    (_, found) = from_files([nameless], envs=[RETAIL]).train
    assert found.messages[0]["content"] == load_domain(domain_path(RETAIL)).prompts["full"]
    for envs in ((), (RETAIL, "simia/webshop-v0")):
        with pytest.raises(InputError, match=r"rows.jsonl:2: it has no system message, and its environment is ''"):
            from_files([nameless], envs=envs)
    with pytest.raises(InputError, match="its environment is 'bank'"):
        from_files([rows(tmp_path / "rows.jsonl", {"env": "bank", "messages": TALK[1:]})])


def test_reasoning_beside_a_text_is_thinking_and_thinking_is_taken_out_and_counted(tmp_path: Path) -> None:
    thought = [*TALK[:2], {"role": "assistant", "content": "Bye.", "reasoning_content": "Done?"}]
    written = [*TALK[:2], {"role": "assistant", "content": "<think>\nDone?\n</think>\n\nBye."}]
    path = rows(tmp_path / "rows.jsonl", *({"messages": one} for one in (thought, written, TALK)))
    found = from_files([path])
    assert [item.messages for item in found.train] == [written, written, TALK]
    assert found.remove_thinking() == 2
    assert [item.messages[2]["content"] for item in found.train] == ["Bye.", "Bye.", TALK[2]["content"]]
    assert found.remove_thinking() == 0


def test_rows_of_tasks_for_testing_are_refused(tmp_path: Path) -> None:
    path = rows(tmp_path / "rows.jsonl", {"split": "train", "task": "a"}, {"split": "test", "task": "b"})
    with pytest.raises(InputError, match=r"rows.jsonl:2: task b is a test task"):
        list(read_trajectories(path))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"function": {"arguments": "{}"}}, 'no "name"'),
        ({"function": {"name": "get", "arguments": "{"}}, "not valid JSON"),
        ({"function": {"name": "get", "arguments": "[]"}}, "must be a JSON object"),
        ("get", "must be a JSON object"),
    ],
)
def test_a_tool_call_that_cannot_be_read_is_refused_with_its_row(call: Any, said: str, tmp_path: Path) -> None:
    broken = [*TALK[:2], {"role": "assistant", "content": None, "tool_calls": [call]}]
    path = rows(tmp_path / "rows.jsonl", {}, {"messages": broken})
    with pytest.raises(InputError, match=rf"rows.jsonl:2: a tool call cannot be read[^\n]*{said}"):
        list(read_trajectories(path))


def test_a_file_that_is_missing_or_not_text_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b'{"messages": "\xe9"}\n')
    for name, said in (("latin.jsonl", "not UTF-8"), ("no.jsonl", "no such file"), ("no.parquet", "no such file")):
        with pytest.raises(InputError, match=rf"{name}: .*{said}"):
            list(read_trajectories(tmp_path / name))


@pytest.mark.parametrize(
    ("tasks", "asked", "held_out"),
    [
        ([str(n) for n in range(60)], None, 6),
        ([str(n) for n in range(60)], 30, 30),
        ([str(n // 2) for n in range(60)], None, 6),
        ([str(n) for n in range(900)], None, 64),
        ([None] * 60, None, 6),
        ([None] * 60, 100, 59),
        ([str(n) for n in range(9)], None, 0),
        (["one"] * 60, 10, 0),
    ],
)
def test_a_tenth_of_the_tasks_is_held_out_at_most_where_nobody_says_how_many(
    tasks: list[str | None], asked: int | None, held_out: int, tmp_path: Path
) -> None:
    found = from_files([rows(tmp_path / "rows.jsonl", *({"task": task} for task in tasks))], held_out=asked)
    assert (len(found.held_out), len(found.train)) == (held_out, len(tasks) - held_out)


def test_episodes_that_a_fault_left_without_a_verdict_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    assert main(["rollout", RETAIL, "--policy", "expert", "--episodes", "3", "--out", str(path)]) == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    fault = {"role": "simulator", "kind": "timeout", "message": "no answer"}
    place = next(n for n, line in enumerate(lines) if "verdict" in line)
    lines[place] |= {"valid": False, "reward": None, "success": False, "fault": fault}
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    found = from_files([path])
    assert (len(found.train), found.faults) == (2, 1)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    assert main(["new-domain", "desk"]) == 0
    return "./desk"


def test_experts_of_a_domain_of_ones_own_play_all_its_tasks(desk: str) -> None:
    found = from_experts([desk], None, held_out=None)
    assert len(found.train) == len({item.task for item in found.train}) == 3
    assert len({item.task for item in (*found.train, *found.held_out)}) == 4
    some = from_experts([desk], 2, held_out=1)
    assert (len(some.train), len(some.held_out)) == (2, 1)
    with pytest.raises(InputError, match="its expert gives 4 trajectories to learn from"):
        from_experts([desk], 5)
    with pytest.raises(InputError, match="Name its folder"):
        from_experts(["simia/custom-v0"], 1)


def test_with_a_prompt_a_turn_each_turn_is_a_conversation(desk: str) -> None:
    with Path(desk, "domain.yaml").open("a") as file:
        file.write("history: steps\n")
    assert main(["rollout", desk, "--policy", "expert", "--out", "train.jsonl"]) == 0
    actions = [action for record in read_records("train.jsonl") for action in record.actions]
    recorded, played = from_files([Path("train.jsonl")]), from_experts([desk], len(actions), held_out=0)
    for found in (recorded, played):
        assert [item.messages[2]["content"] for item in found.train] == actions
        assert all([each["role"] for each in item.messages] == ["system", "user", "assistant"] for item in found.train)
    assert sum(" - Step 0: " in item.messages[1]["content"] for item in recorded.train) == len(actions) - 4


def test_records_of_dev_tasks_are_not_learned_from(desk: str, tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        assert main(["rollout", desk, "--policy", "expert", "--split", split, "--out", f"{split}.jsonl"]) == 0
    dev = {record.task for record in read_records("dev.jsonl")}
    for asked, learned, held_out in ((None, 3, 1), (0, 4, 0)):
        found = from_files([Path("train.jsonl")], held_out=asked)
        assert (len(found.train), len(found.held_out)) == (learned, held_out)
        assert {item.task for item in found.held_out} == (dev if held_out else set())
        assert {item.split for item in found.train} == {"train"}
    for split in ("dev", "test"):
        with pytest.raises(InputError, match=f"is a {split} task"):
            from_files([Path(f"{split}.jsonl")])
        with pytest.raises(InputError, match=f"is a {split} task"):
            from_files([rows(tmp_path / "rows.jsonl", {"split": split})])


@pytest.mark.filterwarnings("ignore")
def test_a_policy_is_made_and_taught_for_a_domain_of_ones_own(desk: str) -> None:
    need("torch", "transformers", "trl", "datasets")
    from simia_gym.rl.small.card import read_card

    assert main(["new-policy", "start", "--env", desk, "--size", "tiny"]) == 0
    assert main(["train", "sft", desk, "--policy", "start", "--max-length", "8000", "--out", "run"]) == 0
    card = read_card("run/policy")
    assert card is not None
    assert (card.envs, card.trained[-1]["trajectories"]) == ((desk,), 3)


def tool(name: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


TEXT = {"type": "string"}
MAYBE = {"type": ["string", "null"]}
LINES = {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/line"}, {"type": "null"}]}}
ORDER = tool("order", {"lines": LINES, "to": {"type": "object", "properties": {"city": TEXT, "zip": TEXT}}})
ORDER["function"]["parameters"]["$defs"] = {
    "line": {
        "type": "object",
        "properties": {"id": TEXT, "note": MAYBE, "count": {"type": "integer"}},
        "required": ["note"],
    }
}
TOOLS = [tool("find", {"name": TEXT}), tool("note", {"text": MAYBE}, ("text",)), tool("wait", {}), ORDER]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("find", {"name": "Ann"}),
    ("note", {"text": None}),
    ("wait", {}),
    ("order", {"lines": [{"id": "a", "note": None}, {"note": "b", "count": 2}], "to": {"city": "Rome"}}),
    ("order", {"to": {"zip": "1"}}),
]


def parquet(path: Path, calls: list[tuple[str, dict[str, Any]]], **columns: Any) -> Path:
    """A file as Arrow writes it: calls of all tools have the arguments of all."""
    need("datasets")
    import pyarrow
    import pyarrow.parquet

    listed = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    said = [{"role": "assistant", "content": "", "tool_calls": [one]} for one in listed]
    made = [{"messages": [*TALK[:2], one, {"role": "user", "content": "ok"}], **columns} for one in said]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(made), path)
    return path


def test_a_number_is_learned_as_it_was_written_also_where_datasets_wrote_the_file(tmp_path: Path) -> None:
    need("datasets")
    from datasets import load_dataset

    path = tmp_path / "rows.jsonl"
    calls = [{"name": "pay", "arguments": {"amount": 0.35}}, {"name": "find", "arguments": {"name": "a"}}]
    said = [
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": one}]} for one in calls
    ]
    path.write_text("".join(json.dumps({"messages": [*TALK[:2], one]}) + "\n" for one in said))
    again = tmp_path / "rows.parquet"
    load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path)).to_parquet(str(again))
    first, second = ([item.messages for item in from_files([one]).train] for one in (path, again))
    assert first == second
    assert '"amount": 0.35}' in first[0][2]["content"]


@pytest.mark.parametrize("column", [TOOLS, json.dumps(TOOLS)], ids=["as objects", "as a text"])
def test_the_nulls_that_arrow_puts_into_calls_are_not_learned(column: Any, tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", CALLS, tools=column)
    said = [item.messages[2]["content"] for item in from_files([path]).train]
    read = [json.loads(text.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>")) for text in said]
    assert [(call["name"], call["arguments"]) for call in read] == CALLS


def test_the_tools_of_an_environment_tell_which_nulls_are_arrows(tmp_path: Path) -> None:
    calls = [("get_order_details", {"order_id": "#W1"}), ("find_user_id_by_email", {"email": "a@b.c"})]
    for named, envs in (({"env": RETAIL}, ()), ({}, (RETAIL,))):
        path = parquet(tmp_path / "rows.parquet", calls, **named)
        first, second = (item.messages[2]["content"] for item in from_files([path], envs=envs).train)
        assert json.loads(first[12:-13])["arguments"] == {"order_id": "#W1"}
        assert json.loads(second[12:-13])["arguments"] == {"email": "a@b.c"}


@pytest.mark.parametrize(
    ("columns", "calls", "said"),
    [
        ({}, CALLS[:2], r"rows\.parquet:1: find\.text is null, .* no schema says so"),
        (
            {"tools": [tool("find", {"name": TEXT, "more": MAYBE})]},
            [("find", {"more": None, "name": "a"})],
            "more is null",
        ),
        ({"tools": [tool("put", {"at": {"type": "object"}})]}, [("put", {"at": {"x": None}})], r"put\.at\.x is null"),
        ({"tools": "["}, CALLS[:1], "its tools are no JSON"),
    ],
)
def test_a_null_of_which_nobody_knows_whose_it_is_is_refused(
    columns: dict[str, Any], calls: list[tuple[str, dict[str, Any]]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        from_files([parquet(tmp_path / "rows.parquet", calls, **columns)])


def test_a_call_beside_thinking_stands_behind_a_blank_line_as_in_qwen3s_template(tmp_path: Path) -> None:
    call = {"type": "function", "function": {"name": "wait", "arguments": {}}}
    written = '<tool_call>\n{"name": "wait", "arguments": {}}\n</tool_call>'
    thought = "<think>\nDone?\n</think>"
    given = [
        ({"reasoning_content": "Done?", "content": ""}, f"{thought}\n\n{written}"),
        ({"reasoning_content": "Done?", "content": "Yes."}, f"{thought}\n\nYes.\n{written}"),
        ({"content": thought}, f"{thought}\n\n{written}"),
        ({"content": "Yes."}, f"Yes.\n{written}"),
    ]
    messages = [[*TALK[:2], {"role": "assistant", "tool_calls": [call], **one}] for one, _ in given]
    found = from_files([rows(tmp_path / "rows.jsonl", *({"messages": one} for one in messages))])
    assert [item.messages[2]["content"] for item in found.train] == [text for _, text in given]
