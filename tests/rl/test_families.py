"""Conversations of the families that TRL knows: what is appended is what the family's own template renders."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import InputError
from simia_gym.types import Message

from .libraries import need
from .tiny import make_tokenizer

need("transformers", "tokenizers", "torch", "trl")

from simia_gym.rl.chat.tokens import ChatTokens, Conversation
from simia_gym.rl.sft.encode import encode

_trl = importlib.util.find_spec("trl")
assert _trl is not None
assert _trl.origin is not None
FOLDER = Path(_trl.origin).parent / "chat_templates"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jinja"))
REFUSED = {
    "gemma": "System role not supported",
    "idefics3": "drops what a",
    "llava_next": "raises where a user follows",
    "phi3": "renders earlier messages differently",
    "phi3_5": "renders earlier messages differently",
    "smolvlm": "drops what a",
}
AS_USER = {"deepseek_r1_distill", "deepseekv3", "diffusion_gemma", "gemma4", "gemma4_v3", "gemma4_v4", "gemma4_v5"}
AS_USER |= {"glm4moe_training"}
ALTERNATING = {"cohere", "cohere2", "gemma3"}
LAYOUTS = {"gptoss"}
"""Those that take a tool's result only behind a call in a layout of their own."""
HEADS = {"muse_glimmer": " to=user<|message|>"}
"""What a policy of the family writes before its words."""
THOUGHT = "<think>\nHm.\n</think>\n\n"
CALL = '<tool_call>\n{"name": "get", "arguments": {}}\n</tool_call>'


def family(name: str) -> str:
    return name if name in AS_USER else name.removesuffix("_training")


def tokenizer_of(name: str) -> Any:
    template = (FOLDER / f"{name}.jinja").read_text()
    marks = re.findall(r"<\|[^|<>\s']{1,40}\|>|<｜[^｜]{1,40}｜>|<(?:start|end)_of_turn>|<\|turn>|<turn\|>", template)
    return make_tokenizer(template, marks=("<|endoftext|>", *sorted(set(marks))), end="<|endoftext|>")


def dialogue(thought: str, heard: list[str], head: str = "") -> list[Message]:
    """A conversation with a call before each group of roles that is heard."""
    messages: list[Message] = [{"role": "system", "content": "Serve."}, {"role": "user", "content": "Where is it?"}]
    for number, roles in enumerate(heard):
        messages.append({"role": "assistant", "content": head + thought + CALL})
        for place, role in enumerate(roles.split()):
            messages.append({"role": role, "content": f"{role} {number}.{place}"})
            if role == "tool":
                messages[-1]["name"] = "get"
    return [*messages, {"role": "assistant", "content": f"{head}{thought}Bye."}]


def in_roles(name: str, messages: list[Message]) -> list[Message]:
    """The messages in the roles that the family's template has for them."""
    made: list[Message] = []
    for message in messages:
        user = {"role": "user", "content": message["content"]}
        if family(name) in ALTERNATING and message["role"] in ("tool", "user"):
            if made[-1]["role"] == "user":
                user["content"] = f"{made.pop()['content']}\n\n{user['content']}"
            made.append(user)
        else:
            made.append(user if family(name) in AS_USER and message["role"] == "tool" else message)
    return made


def without_thinking(text: str) -> str:
    said = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    return re.sub(r"\s*(?=<tool_call>|Bye\.)", "", said).split("Bye.")[0]


@pytest.mark.parametrize("thought", ["<think>\n\n</think>\n\n", THOUGHT], ids=["empty", "thought"])
@pytest.mark.parametrize("heard", [["tool", "tool tool", "tool"], ["tool", "user", "tool user"]], ids=["tools", "user"])
@pytest.mark.parametrize("name", [name for name in NAMES if family(name) not in {*REFUSED, *LAYOUTS}])
def test_what_is_appended_is_what_the_template_renders(name: str, heard: list[str], thought: str) -> None:
    tokenizer = tokenizer_of(name)
    ours = tokenizer.decode(encode(tokenizer, dialogue(thought, heard, HEADS.get(family(name), ""))).input_ids)
    whole = tokenizer.apply_chat_template(in_roles(name, dialogue(thought, heard)), tokenize=False)
    assert without_thinking(ours) == without_thinking(whole)


EXACT = ["cohere2", "gemma3", "gemma4", "lfm2", "llama3", "llama3_1", "qwen2_5", "qwen3_instruct_2507", "qwen3_vl"]
THINKING = ["qwen3", "qwen3_5_think", "qwen3_6", "nemotron_3_nano", "nemotron_3_ultra", "glm4moe"]


@pytest.mark.parametrize("name", [*EXACT, *THINKING])
def test_the_tokens_are_those_of_the_template_thinking_included(name: str) -> None:
    tokenizer = tokenizer_of(name)
    thought = THOUGHT if name in THINKING else ""
    said = "\n<think>Hm.</think>\n" if name == "glm4moe" else thought
    ours = encode(tokenizer, dialogue(said, ["tool", "tool tool"])).input_ids
    messages = in_roles(name, dialogue(thought, ["tool", "tool tool"]))
    if name == "glm4moe":
        assert ours[:-1] == tokenizer.apply_chat_template(messages, return_dict=False)
        assert tokenizer.decode(ours[-1:]) == "<|user|>"  # the next turn's beginning ends it
    else:
        whole = tokenizer.apply_chat_template(messages, return_dict=False)
        assert whole[: len(ours)] == ours
        assert len(whole) - len(ours) <= 1


def test_a_turn_that_ends_where_the_next_begins_is_not_opened_twice() -> None:
    tokenizer = tokenizer_of("glm4moe")
    for last in ("<|observation|>", "."):
        talk = Conversation(tokenizer, dialogue("", [])[:2])
        talk.said(tokenizer.encode(f"\n<think></think>\n{CALL}{last}"))
        talk.heard([{"role": "tool", "content": "found", "name": "get"}])
        assert tokenizer.decode(talk.ids).count("<|observation|>") == 1


def test_a_layout_of_its_own_is_rendered_as_behind_its_own_call() -> None:
    tokenizer = tokenizer_of("gptoss")
    call = {"id": "a", "type": "function", "function": {"name": "get", "arguments": {}}}
    messages = dialogue("", ["tool"])
    own = [*messages[:2], {"role": "assistant", "content": "", "tool_calls": [call]}, messages[3]]
    heard = ChatTokens.of(tokenizer).heard(messages[3:4], None)
    assert tokenizer.apply_chat_template(own, add_generation_prompt=True, return_dict=False)[-len(heard) :] == heard


@pytest.mark.parametrize("name", [name for name in NAMES if family(name) in REFUSED])
def test_what_cannot_be_appended_is_refused_by_name_at_the_start(name: str) -> None:
    tokenizer = tokenizer_of(name)
    tokenizer.name_or_path = "org/model"
    with pytest.raises(InputError, match=rf"^org/model: its chat template .*{REFUSED[family(name)]}"):
        ChatTokens(tokenizer)


@pytest.mark.parametrize("name", sorted([*ALTERNATING, "llama3_1", "gemma4", "qwen3_vl", "qwen3_5_think"]))
def test_everything_that_is_heard_is_read(name: str) -> None:
    tokenizer = tokenizer_of(name)
    roles = ("tool", "tool", "user", "system")
    heard: list[Message] = [{"role": role, "content": f"fact {n} of a {role}"} for n, role in enumerate(roles)]
    said = tokenizer.decode(ChatTokens.of(tokenizer).heard(heard, None))
    assert [said.count(str(message["content"])) for message in heard] == [1, 1, 1, 1]
