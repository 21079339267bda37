"""What `simia export` writes for trainers is loaded by them, and every call comes out as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main
from simia_gym.conversations import Conversation, read_conversations, write_conversations

from .libraries import need

need("torch", "transformers", "trl", "datasets", "verl", "verl.trainer.sft_trainer")

import trl
from datasets import Dataset, load_dataset
from verl.trainer.sft_trainer import create_sft_dataset
from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

from simia_gym.errors import InputError
from simia_gym.rl.chat.template import chat_template
from simia_gym.rl.grpo.config.verl_config import compose
from simia_gym.rl.sft.encode import encode_all
from simia_gym.rl.sft.files import read_trajectories
from simia_gym.rl.sft.with_verl import MAIN

from .tiny import LLAMA_MARKS, MARKS, make_model, make_tokenizer

OURS = "ours"
ARGUMENTS: list[dict[str, Any]] = [
    {"on": "2024-05-16"},
    {"on": "2024-05-17T08:00:00Z", "note": None},
    {"items": [{"id": "0012"}, {"size": {"width": 1.5}}], "all": True},
    {"text": 'é \u2028 "<x>" \\ \n /', "number": 2**62, "share": 12.25},
    {},
]
"""Dates as texts, nulls that are meant, objects with keys of their own, a call without arguments."""
TOOLS = tuple(
    {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object", **more}}}
    for name, more in (
        (
            "put",
            {"properties": {"on": {"type": "string", "enum": ["2024-05-16"]}, "note": {"type": ["string", "null"]}}},
        ),
        ("look", {"properties": {"items": {"type": "array", "items": {"type": "object"}}}, "required": ["items"]}),
    )
)


def template_of(name: str) -> str:
    return chat_template() if name == OURS else (Path(trl.__file__).parent / f"chat_templates/{name}.jinja").read_text()


def tokenizer_of(name: str) -> Any:
    llama = name.startswith("llama")
    return make_tokenizer(
        template_of(name), marks=LLAMA_MARKS if llama else MARKS, end="<|eot_id|>" if llama else "<|im_end|>"
    )


def conversation(*given: dict[str, Any], name: str = "put", **more: Any) -> Conversation:
    messages: list[Any] = [{"role": "user", "content": "2024-05-16"}]
    for place, arguments in enumerate(given, start=1):
        call = {"id": f"call_{place}_0", "type": "function", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "So.", "tool_calls": [call]})
        answer = {"role": "tool", "tool_call_id": call["id"], "name": name, "content": f"2024-05-{place:02}"}
        messages.append(answer)
    messages.append({"role": "assistant", "content": "Done."})
    return Conversation(messages=tuple(messages), system="Be kind.", tools=TOOLS, source="c:1", **more)


CONVERSATIONS = [
    conversation(*ARGUMENTS, reward=1.0, seed=2**70, extra={"vary": {"a": [None]}}),
    conversation(ARGUMENTS[2], name="look", task="2024-05-16"),
    Conversation(messages=conversation().messages, system="2024-05-16", kind="talk", valid=True, source="c:3"),
]


def exported(folder: Path, name: str, found: list[Conversation] = CONVERSATIONS) -> Path:
    write_conversations(folder / "c.jsonl", found, "openai")
    path = folder / f"c.{name}.parquet"
    assert main(["export", str(folder / "c.jsonl"), str(path), "--format", name]) == 0
    return path


def called(text: str) -> list[Any]:
    """The arguments of the calls in a text, as Hermes and Llama 3.1 write them."""
    blocks = re.findall(r"<tool_call>\n(.*?)\n</tool_call>", text, re.DOTALL)
    blocks += re.findall(r'(\{"name": .*\})<\|eot_id\|>', text)
    read = [json.loads(block) for block in blocks]
    return [call["arguments"] if "arguments" in call else call["parameters"] for call in read]


def asked(found: Conversation) -> list[Any]:
    return [call["function"]["arguments"] for each in found.messages for call in each.get("tool_calls", ())]


@pytest.mark.parametrize("name", ["verl", "trl"])
def test_from_the_format_and_back_it_is_the_same(name: str, tmp_path: Path) -> None:
    path = exported(tmp_path, name)
    assert list(read_conversations(path)) == CONVERSATIONS
    assert main(["export", str(path), str(tmp_path / "back.jsonl"), "--format", "openai"]) == 0
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    # Supervised training sees the same, whatever it reads; only the format `verl` does not name who answered.
    one, other = (
        [each and (_unnamed(each.messages), each.reward, each.task) for each in read_trajectories(file)]
        for file in (path, tmp_path / "c.jsonl")
    )
    assert one == other


def _unnamed(messages: list[Any]) -> list[Any]:
    return [{key: each[key] for key in ("role", "content")} for each in messages]


def data_of_verl(path: Path, tokenizer: Any, *more: str) -> Any:
    """The data set of verl's SFT trainer, with the defaults of its configuration."""
    config = compose(["data.pad_mode=no_padding", "data.max_length=20000", *more], MAIN).data
    return create_sft_dataset(str(path), config, tokenizer, None)


@pytest.mark.parametrize("template", [OURS, "qwen2_5", "qwen3", "llama3", "llama3_1"])
def test_verl_learns_the_calls_as_they_were(template: str, tmp_path: Path) -> None:
    tokenizer = tokenizer_of(template)
    # Qwen3's template puts empty thoughts before the last turn, which verl does not see where it renders that alone.
    more = ["data.ignore_input_ids_mismatch=true"] if template == "qwen3" else []
    read = data_of_verl(exported(tmp_path, "verl"), tokenizer, *more)
    assert isinstance(read, MultiTurnSFTDataset)
    for found, row in zip(CONVERSATIONS, read, strict=True):
        assert called(tokenizer.decode(row["input_ids"][row["loss_mask"].bool()])) == asked(found)
        assert "null" not in tokenizer.decode(row["input_ids"]).replace('"note": null', "").replace('"null"', "")


def test_verl_and_our_trainer_have_the_same_tokens(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(OURS)
    path = exported(tmp_path, "verl")
    talks = [each.messages for each in read_trajectories(tmp_path / "c.jsonl") if each is not None]
    ours = encode_all(tokenizer, talks, max_length=20_000).rows
    for row, encoded in zip(data_of_verl(path, tokenizer), ours, strict=True):
        length = len(encoded.input_ids)
        assert row["input_ids"][:length].tolist() == encoded.input_ids
        # verl also learns the line's end that the template writes behind a turn.
        learned = [bool(one) for one in row["loss_mask"][:length]]
        assert [one for one, label in zip(learned, encoded.labels, strict=True) if label >= 0] == [
            True
        ] * encoded.learned
        behind = [at for at, label in enumerate(encoded.labels) if label < 0 and learned[at]]
        assert {tokenizer.decode(encoded.input_ids[at]) for at in behind} <= {"\n"}


@pytest.mark.parametrize("template", [OURS, "qwen2_5", "qwen3", "llama3_1"])
@pytest.mark.filterwarnings("ignore")
def test_trl_learns_the_calls_as_they_were(template: str, tmp_path: Path) -> None:
    path = str(exported(tmp_path, "trl"))
    rows = load_dataset("parquet", data_files=path, split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.features == Dataset.from_parquet(path, cache_dir=str(tmp_path / "other")).features
    tokenizer = tokenizer_of(template)
    settings = trl.SFTConfig(
        str(tmp_path / "run"), max_length=None, report_to="none", max_steps=1, use_cpu=True, bf16=False
    )
    model = make_model(vocab=len(tokenizer), length=20_000)
    trainer = trl.SFTTrainer(model, settings, train_dataset=rows, processing_class=tokenizer)
    for found, ids in zip(CONVERSATIONS, trainer.train_dataset["input_ids"], strict=True):
        text = tokenizer.decode(ids)
        said = text.split("<|im_start|>assistant" if template != "llama3_1" else "<|start_header_id|>assistant")
        assert called("".join(said[1:])) == asked(found)
        if found.tools and template.startswith("qwen"):
            tools = text.partition("<tools>\n")[2].partition("\n</tools>")[0]
            assert [json.loads(line) for line in tools.splitlines()] == list(found.tools)
    trainer.train()


@pytest.mark.parametrize("value", [0.35, 1e-12, 2**64])
def test_a_number_that_datasets_changes_is_refused_with_its_place(value: Any, tmp_path: Path) -> None:
    """Its JSON is read by ujson, which is wrong in the last digit of some numbers and rounds when it writes them."""
    one = [conversation({"share": value}, where="mine:7")]
    with pytest.raises(InputError, match=r'^mine:7: cannot be written as trl: put is called with {"share":'):
        write_conversations(tmp_path / "c.parquet", one, "trl")
    write_conversations(tmp_path / "c.parquet", one, "verl")
    assert list(read_conversations(tmp_path / "c.parquet")) == one


def test_answers_to_several_calls_are_one_message_for_verl(tmp_path: Path) -> None:
    """It renders every message alone, where a template writes one turn for all of them."""
    (whole,) = [conversation(ARGUMENTS[0], ARGUMENTS[1])]
    ask, first, answer, second, further, end = whole.messages
    both = {**first, "tool_calls": [*first["tool_calls"], *second["tool_calls"]]}
    found = Conversation(messages=(ask, both, answer, further, end), system="s", tools=TOOLS, source="c:1")
    path = exported(tmp_path, "verl", [found])
    for name in (OURS, "qwen2_5"):
        tokenizer = tokenizer_of(name)
        (row,) = data_of_verl(path, tokenizer)
        text = "<tool_response>\n2024-05-01\n</tool_response>\n<tool_response>\n2024-05-02\n</tool_response>"
        assert text in tokenizer.decode(row["input_ids"])
    assert list(read_conversations(path)) == [found]


@pytest.mark.parametrize("name", ["verl", "trl"])
def test_a_file_of_another_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"the format {name} is a Parquet file. Give it a name that ends in .parquet"):
        write_conversations(tmp_path / "c.jsonl", CONVERSATIONS, name)
    assert not any(tmp_path.iterdir())


def test_a_damaged_file_is_told_in_one_line(tmp_path: Path) -> None:
    path = exported(tmp_path, "verl")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"is no Parquet file that can be read: .*Write it again"):
        list(read_conversations(path))


def test_arguments_that_arrow_has_filled_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    rows = [{"messages": list(conversation(arguments).messages)} for arguments in ({"a": 1}, {"b": "x"})]
    Dataset.from_list(rows).to_parquet(str(path))
    with pytest.raises(InputError, match="the arguments of its calls are objects, which Arrow fills with nulls"):
        list(read_conversations(path))
    for row in rows:
        for message in row["messages"]:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    Dataset.from_list([{**row, "tools": list(TOOLS)} for row in rows]).to_parquet(str(path))
    read = [each for each in read_conversations(path) if isinstance(each, Conversation)]
    assert [asked(each) for each in read] == [[{"a": 1}], [{"b": "x"}]]
    assert read[0].tools == TOOLS
