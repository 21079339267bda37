"""TRL's own trainer, for real: both entrances, what is trained on, and what a fault does to a group."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simia_gym.rl.recipes import trl_environment_factory, trl_rollout_func

from .libraries import need
from .trl_imitation import small_policy
from .trl_parts import DESK, LIBRARY, ScriptedVllm, breaking, script

need("torch", "trl", "datasets", "jmespath")

import torch
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, chat_template_utils

from simia_gym.rl import (
    EpisodeGRPOTrainer,
    episode_metrics,
    episode_reward,
    episodes_rollout,
    tool_calling,
    tool_environments,
)
from simia_gym.rl.for_trl.engines import VllmEngine
from simia_gym.rl.for_trl.environments import ToolEnvironments
from simia_gym.rl.generation.packed import tell_of_slowness
from simia_gym.rl.small.model import SIZES, make_model
from simia_gym.rl.small.tokenizer import train_tokenizer


def played(environments: ToolEnvironments, count: int) -> list[Any]:
    rows = environments.rows(1)
    made = [environments() for _ in range(count)]
    for one in made:
        one.reset(**rows[0])
    return made


@pytest.mark.parametrize(("places", "counted"), [(["", ""], 5), (["", "reset"], 3), (["reset", "reset"], 0)])
def test_every_process_gathers_whether_it_has_a_fault_or_not(
    places: list[str], counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments = tool_environments(DESK, domain=str(LIBRARY), simulator=breaking(*places))
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    before = {"completion_mask": mask, "num_items_in_batch": torch.tensor(99)}
    monkeypatch.setattr(GRPOTrainer, "_generate_and_score_completions", lambda self, inputs: dict(before))
    gathered: list[int] = []

    def gather(value: Any) -> Any:
        gathered.append(int(value))
        return torch.stack([value, torch.tensor(100)])  # another process has counted, too

    trainer = EpisodeGRPOTrainer.__new__(EpisodeGRPOTrainer)
    trainer.environments = played(environments, 2)
    trainer.accelerator = SimpleNamespace(gather=gather)
    batch = trainer._generate_and_score_completions([])
    assert gathered == [counted]
    assert int(batch["num_items_in_batch"]) == 100 + counted
    assert int((batch["completion_mask"] * batch["tool_mask"]).sum()) == counted


REFUSE = '<tool_call>{"name": "close_case", "arguments": {"outcome": "refused", "note": ""}}</tool_call>'
LEND = (
    '<tool_call>{"name": "get_member", "arguments": {"member_id": "M-101"}}</tool_call>',
    '<tool_call>{"name": "lend_book", "arguments": {"member_id": "M-101", "book_id": "B-02"}}</tool_call>',
    '<tool_call>{"name": "close_case", "arguments": {"outcome": "done", "note": "Lent."}}</tool_call>',
)
pytestmark = pytest.mark.slow_rl


def settings(folder: Path, size: int, **more: Any) -> Any:
    given = {"max_completion_length": 2000, "learning_rate": 1e-3, "max_steps": 1, "beta": 0.0, "bf16": False, **more}
    return GRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        per_device_train_batch_size=size,
        num_generations=size,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        gradient_checkpointing=False,
        **given,
    )


def policy() -> tuple[Any, Any]:
    tokenizer = train_tokenizer([[{"role": "user", "content": "a library desk"}]], vocab=320, phrases=0)
    tokenizer.padding_side = "left"
    return make_model(SIZES["tiny"], tokenizer, max_length=8192, seed=1), tokenizer


def recorded(trainer: Any) -> list[dict[str, Any]]:
    """What the trainer makes of each batch it samples."""
    batches: list[dict[str, Any]] = []
    original = trainer._generate_and_score_completions

    def record(inputs: Any) -> Any:
        batches.append(original(inputs))
        return batches[-1]

    trainer._generate_and_score_completions = record
    return batches


@pytest.mark.parametrize(
    ("recipe", "interface"), [(trl_rollout_func, episodes_rollout), (trl_environment_factory, tool_environments)]
)
def test_the_examples_train(recipe: Any, interface: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[dict[str, Any]] = []
    original = GRPOTrainer._generate_and_score_completions

    def record(self: Any, inputs: Any) -> Any:
        batches.append(original(self, inputs))
        return batches[-1]

    monkeypatch.setattr(GRPOTrainer, "_generate_and_score_completions", record)
    entrance = interface(DESK, domain=str(LIBRARY), prompt="compact")
    start = small_policy(entrance, list(entrance.dataset(4)), tmp_path / "start")
    short = ["--rows", "4", "--steps", "3", "--policy", str(start), "--out", str(tmp_path)]
    steps = recipe.main([str(LIBRARY), *short])
    assert len(steps) == 3
    assert any(step["reward"] > 0 for step in steps)
    assert any(step["grad_norm"] > 0 for step in steps)
    assert all(step["episodes/valid"] == 1 for step in steps)
    assert any(step["episodes/turns"] > 2 for step in steps)
    assert (tmp_path / "policy" / "model.safetensors").is_file()
    assert json.loads((tmp_path / "policy" / "simia.json").read_text())["thinking"] == "keep"
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3
    check_masks(AutoTokenizer.from_pretrained(tmp_path / "policy"), batches)


def check_masks(tokenizer: Any, batches: list[dict[str, Any]]) -> None:
    """What is trained on are the policy's calls, word for word, and nothing of what tools and user answered."""
    called = heard = 0
    for batch in batches:
        for ids, whole, own in zip(
            batch["completion_ids"], batch["completion_mask"].bool(), batch["tool_mask"].bool(), strict=True
        ):
            said, read = tokenizer.decode(ids[whole & own]), tokenizer.decode(ids[whole & ~own])
            assert "<tool_response>" not in said
            assert "assistant\n<tool_call>" not in read  # answers may say how a call is written
            called, heard = called + said.count("<tool_call>"), heard + read.count("<tool_response>")
    assert called >= heard > 0


def faulty_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer_class: Any, *rewards: Any
) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
    """A training whose group has the rewards 1, 0, none, 0: its trainer, model, tokenizer and batches."""
    model, tokenizer = policy()
    world = breaking("", "", "call", "")
    episodes = episodes_rollout(DESK, domain=str(LIBRARY), max_prompt_length=6000, simulator=world)
    vllm = ScriptedVllm(tokenizer, [script(*LEND), script(REFUSE), script(*LEND), script(REFUSE)])

    # A script in the place of the model: then it is known who is paid what.
    def scripted(self: Any, trainer: Any, count: int, end_ids: Any) -> None:
        self._vllm, self._accelerator = vllm, trainer.accelerator
        self._left, self._ends, self._waiting = count, frozenset(end_ids), []

    monkeypatch.setattr(VllmEngine, "__init__", scripted)
    trainer = trainer_class(
        model=model,
        processing_class=tokenizer,
        args=settings(tmp_path, 4, scale_rewards="none"),
        train_dataset=episodes.dataset(1),
        rollout_func=_with_vllm(episodes),
        reward_funcs=[episode_reward, *rewards],
    )
    return trainer, model, tokenizer, recorded(trainer)


def further(completion_ids: Any, **_: Any) -> list[float]:
    """A reward function that scores an episode with a fault, too."""
    return [0.5, 0.25, 3.0, 0.75]


@pytest.mark.parametrize(
    ("trainer_class", "rewards", "advantages"),
    [
        # 1, 0, none, 0: the mean is 1/3 over three.
        (GRPOTrainer, [], [2 / 3, -1 / 3, 0.0, -1 / 3]),
        # 1 + 0.5, 0 + 0.25, none, 0 + 0.75: the mean is 2.5/3 over three.
        (EpisodeGRPOTrainer, [further], [1.5 - 2.5 / 3, 0.25 - 2.5 / 3, 0.0, 0.75 - 2.5 / 3]),
    ],
)
def test_training_with_a_fault_in_the_group(
    trainer_class: Any, rewards: list[Any], advantages: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, model, tokenizer, batches = faulty_training(tmp_path, monkeypatch, trainer_class, *rewards)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    trainer.train()
    batch = batches[0]
    assert batch["advantages"].tolist() == pytest.approx(advantages, abs=1e-6)
    own = batch["completion_mask"] * batch["tool_mask"]
    assert own[2].sum() == 0
    assert batch["num_items_in_batch"] == own.sum() == own[[0, 1, 3]].sum()
    said = tokenizer.decode(batch["completion_ids"][0][own[0].bool()])
    assert said == "".join(f"{text}<|im_end|>" for text in LEND)
    step = trainer.state.log_history[0]
    assert float(step["grad_norm"]) > 0
    assert float(step["episodes/valid"]) == 0.75
    assert float(step["episodes/faults/timeout"]) == 0.25
    assert any(not torch.equal(before[name], value) for name, value in model.named_parameters())


def _with_vllm(episodes: Any) -> Any:
    def play(prompts: Any, trainer: Any) -> Any:
        trainer.use_vllm = True
        try:
            return episodes(prompts, trainer)
        finally:
            trainer.use_vllm = False

    return play


def test_a_fault_in_an_environment_moves_nothing_either(tmp_path: Path) -> None:
    """With KL, tokens without an advantage have a gradient all the same, if nobody masks them."""
    model, tokenizer = policy()
    model.save_pretrained(tmp_path / "start")
    environments = tool_environments(
        DESK, domain=str(LIBRARY), prompt="compact", simulator=breaking("", "reset", "", "")
    )
    trainer = EpisodeGRPOTrainer(
        model=str(tmp_path / "start"),
        processing_class=tool_calling(tokenizer),
        args=settings(tmp_path, 4, beta=0.1, max_completion_length=24, max_tool_calling_iterations=2),
        train_dataset=environments.dataset(1),
        environment_factory=environments,
        reward_funcs=[episode_metrics, further],
    )
    batches = recorded(trainer)
    trainer.train()
    left_out = [environment.get_reward() is None for environment in trainer.environments]
    assert left_out.count(True) == 1
    batch = batches[0]
    own = batch["completion_mask"] * batch["tool_mask"]
    assert [bool(row.sum() == 0) for row in own] == left_out
    assert batch["advantages"][left_out.index(True)] == 0
    assert batch["num_items_in_batch"] == own.sum()
    assert float(trainer.state.log_history[0]["episodes/valid"]) == 0.75


@pytest.mark.parametrize("adapter", [False, True])
def test_in_mixed_precision_and_with_an_adapter_turns_are_sampled_together(
    adapter: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tell_of_slowness.cache_clear()
    model, tokenizer = policy()
    more: dict[str, Any] = {}
    if adapter:
        peft: Any = pytest.importorskip("peft")
        parts = ["q_proj", "v_proj"]
        more["peft_config"] = peft.LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=parts)
    episodes = episodes_rollout(DESK, domain=str(LIBRARY), prompt="compact", turn_tokens=8, max_prompt_length=6000)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=settings(tmp_path, 2, max_completion_length=60, bf16=True),
        train_dataset=episodes.dataset(1),
        rollout_func=episodes,
        reward_funcs=[episode_reward, lambda completion_ids, **_: [float(sum(ids)) for ids in completion_ids]],
        **more,
    )
    trainer.train()
    assert float(trainer.state.log_history[0]["grad_norm"]) > 0
    assert float(trainer.state.log_history[0]["episodes/valid"]) == 1
    assert "one conversation at a time" not in caplog.text


def test_the_models_own_log_probabilities_are_those_of_the_trainer(tmp_path: Path) -> None:
    model, tokenizer = policy()
    episodes = episodes_rollout(DESK, domain=str(LIBRARY), prompt="compact", turn_tokens=24, max_prompt_length=6000)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=settings(tmp_path, 4, max_completion_length=400, temperature=0.8, max_steps=2, learning_rate=3e-3),
        train_dataset=episodes.dataset(2),
        rollout_func=episodes,
        # Something that varies, so that there is a gradient and the second step's weights are new.
        reward_funcs=[episode_reward, lambda completion_ids, **_: [float(sum(ids)) for ids in completion_ids]],
    )
    seen: list[float] = []
    original = trainer._generate_and_score_completions

    def compare(inputs: Any) -> Any:
        batch = original(inputs)
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        count = batch["completion_ids"].shape[1]
        with torch.no_grad():
            logprobs = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, count, batch_size=4)[0]
        own = (batch["completion_mask"] * batch["tool_mask"]).bool()
        seen.append(float((logprobs.exp() - batch["sampling_per_token_logps"].exp())[own].abs().max()))
        return batch

    trainer._generate_and_score_completions = compare
    trainer.train()
    assert len(seen) == 2
    assert max(seen) < 1e-4
    assert float(trainer.state.log_history[0]["grad_norm"]) > 0


@pytest.mark.parametrize("template", ["ours", "qwen3", "qwen2_5"])
def test_tokenizers_show_tools_and_calls_are_read(template: str) -> None:
    _, tokenizer = policy()
    if template != "ours":
        folder = Path(str(chat_template_utils.__file__)).parent / "chat_templates"
        tokenizer.chat_template = (folder / f"{template}.jinja").read_text()
    made = tool_calling(tokenizer)
    assert getattr(tokenizer, "response_schema", None) is None
    environment = tool_environments("simia/retail-v0")()
    tools = [getattr(environment, name) for name in ("cancel_pending_order", "send_message")]
    shown = made.apply_chat_template(
        [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Hi!"}], tools=tools, tokenize=False
    )
    for word in ("Rules.", "Hi!", "ordered by mistake", "send_message"):
        assert shown.count(word) == 1
    assert shown.index("Rules.") < shown.index("send_message") < shown.index("Hi!")
    written = '<tool_call>\n{"name": "send_message", "arguments": {"text": "Which <b> order?"}}\n</tool_call><|im_end|>'
    read = chat_template_utils.parse_response(made, made.encode(written, add_special_tokens=False))
    assert read["tool_calls"][0]["function"] == {"name": "send_message", "arguments": {"text": "Which <b> order?"}}
