"""The expert's episodes in the formats of both of TRL's interfaces, and a small policy that imitates them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from simia_gym.actions.calls import read_action
from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.policies import Policy
from simia_gym.policies.load import load_policy
from simia_gym.rl.for_trl.environments import ToolEnvironment, ToolEnvironments
from simia_gym.rl.for_trl.rollouts import EpisodesRollout
from simia_gym.rl.for_trl.rows import KEY
from simia_gym.rl.for_trl.tokenizers import tool_calling
from simia_gym.rl.small.model import SIZES, can_copy, make_model
from simia_gym.rl.small.tokenizer import train_tokenizer
from simia_gym.rollout.play import play
from simia_gym.types import Calls, End, JsonObject, Message, PolicyAction, Say


def small_policy(entrance: EpisodesRollout | ToolEnvironments, rows: Sequence[JsonObject], folder: Path) -> Path:
    """A policy in this folder that imitates the domain's expert on some rows."""
    tools: list[Any] = []
    if isinstance(entrance, ToolEnvironments):
        environment = entrance()
        tools = [getattr(environment, name) for name in entrance.tool_names]
        talks = [in_calls(environment, row) for row in rows]
    else:
        talks = [in_turns(entrance, row) for row in rows]
    tokenizer = train_tokenizer([_as_text(talk, tools) for talk in talks], vocab=2048, phrases=512)
    tokenizer.padding_side = "left"
    if tools:
        tokenizer = tool_calling(tokenizer)
    examples = [
        tokenizer.apply_chat_template(
            talk, tools=tools or None, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        for talk in talks
    ]
    pairs = [(list(example["input_ids"]), list(example["assistant_masks"])) for example in examples]
    imitate(tokenizer, pairs).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def in_turns(rollout: EpisodesRollout, row: JsonObject) -> list[Message]:
    """The expert's episode in the format of ``rollout_func``: assistant messages are the texts of its actions."""
    begin = rollout.find(row[KEY])
    suite: Suite = rollout.suites[begin.env]
    episode, expert = suite.episode(), expert_of(suite)
    run_sync(play(episode, begin.task, seed=begin.seed, policy=expert, env=begin.env), inline=episode.inline)
    talk: list[Message] = []
    said = [event["text"] for event in episode.ledger.events if event["type"] == "action"]
    for message in episode.messages:
        if message["role"] == "assistant":
            talk.append({"role": "assistant", "content": said.pop(0)})
            if not said:
                break
        else:
            talk.append(_bare(message))
    return talk


def in_calls(environment: ToolEnvironment, row: JsonObject) -> list[Message]:
    """The expert's episode in the format of ``environment_factory``: every turn but the last is a tool call."""
    system, user = (_bare(message) for message in row["prompt"])
    opening = environment.reset(**row)
    calls = list(_calls(environment))
    return [system, {**user, "content": opening}, *calls, {"role": "assistant", "content": "Done."}]


def expert_of(suite: Suite) -> Policy:
    """The domain's expert."""
    return load_policy("expert", suite.domain.config.policies, folder=suite.domain.folder)()


def imitate(tokenizer: Any, examples: Sequence[tuple[list[int], list[int]]], steps: int = 150) -> Any:
    """A new model, trained on the masked-in tokens of episodes, one in each update."""
    import torch

    model = make_model(SIZES["tiny"], tokenizer, max_length=8192, seed=0, copying=can_copy(SIZES["tiny"]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        ids, mask = (torch.tensor([part]) for part in examples[step % len(examples)])
        loss = model(input_ids=ids, labels=torch.where(mask == 1, ids, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
    return model


def _calls(environment: ToolEnvironment) -> Iterator[Message]:
    """The expert's tool calls and their results, one call at a time."""
    episode, grammar = environment.episode, environment.suite.domain.grammar
    names, text_names = environment.method_names, environment.text_names
    expert = expert_of(environment.suite)
    while episode.ended is None:
        _, action = read_action(grammar, cast(PolicyAction, expert.act(episode.messages)))
        made: list[tuple[str, JsonObject]] = []
        if isinstance(action, Say):
            made = [(text_names[Say], {"text": action.text})]
        elif isinstance(action, Calls):
            made = [(names[call.name], dict(call.arguments)) for call in action.calls]
        elif isinstance(action, End):
            made = [(text_names[End], {"answer": action.answer})]
        for name, arguments in made:
            function = {"name": name, "arguments": arguments}
            yield {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}
            yield {"role": "tool", "name": name, "content": getattr(environment, name)(**arguments)}


def _bare(message: Message) -> Message:
    return {name: message[name] for name in ("role", "content", "name") if name in message}


def _as_text(talk: Sequence[Message], tools: Sequence[Any]) -> list[Message]:
    """A conversation with its calls and tools rendered as text, to train the tokenizer on."""
    from transformers.utils import get_json_schema

    system, *rest = talk
    lines = [json.dumps(get_json_schema(tool), ensure_ascii=False) for tool in tools]
    told: list[Message] = [{"role": "system", "content": "\n".join([str(system["content"]), *lines])}]
    for message in rest:
        calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls", ())]
        told.append({"role": message["role"], "content": "\n".join([str(message["content"]), *calls])})
    return told
