"""Whole episodes for TRL, with a script in the place of its vLLM client, and what comes out decoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simia_gym.env import make_suite
from simia_gym.errors import InputError
from simia_gym.rl.for_trl.batch_check import TRIES, BatchCheck
from simia_gym.rl.for_trl.engines import _check
from simia_gym.rl.for_trl.rewards import episode_reward
from simia_gym.rl.for_trl.rollouts import EpisodesRollout, episodes_rollout
from simia_gym.rl.small.card import Card, write_card

from .libraries import need
from .tiny import FORGETFUL, OFF, save_policy
from .trl_imitation import in_turns
from .trl_parts import CLOSE, DESK, LIBRARY, LOOK, ScriptedVllm, breaking, script, trainer_with

need("transformers", "tokenizers", "torch")

from transformers import AutoTokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from simia_gym.rl.small.tokenizer import train_tokenizer

    return train_tokenizer([[{"role": "user", "content": "a library desk"}]], vocab=320, phrases=0)


def desk(**settings: Any) -> EpisodesRollout:
    return episodes_rollout(DESK, domain=str(LIBRARY), prompt="compact", max_prompt_length=9000, **settings)


def prompts_of(rollout: EpisodesRollout, count: int, generations: int = 1) -> list[Any]:
    return [row["prompt"] for row in rollout.rows(count) for _ in range(generations)]


def expert_script(rollout: EpisodesRollout, number: int) -> Callable[[int], str]:
    talk = in_turns(rollout, rollout.rows(number + 1)[number])
    return script(*(message["content"] for message in talk if message["role"] == "assistant"))


def own(out: dict[str, Any], at: int, tokenizer: Any, mark: int = 1) -> str:
    pairs = zip(out["completion_ids"][at], out["env_mask"][at], strict=True)
    return str(tokenizer.decode([item for item, mask in pairs if mask == mark]))


def test_the_expert_is_paid_and_the_mask_holds_its_words_alone(tokenizer: Any) -> None:
    rollout = desk()
    scripts = [expert_script(rollout, number) for number in range(4)]
    vllm = ScriptedVllm(tokenizer, scripts)
    out = rollout(prompts_of(rollout, 4), trainer_with(vllm))
    assert out["reward"] == [1.0] * 4
    assert out["valid"] == out["success"] == [True] * 4
    assert out["fault"] == [None] * 4
    assert out["ended"] == ["terminal_tool"] * 4
    for at, one in enumerate(scripts):
        said = [one(turn) for turn in range(out["turns"][at])]
        assert own(out, at, tokenizer) == "".join(f"{text}<|im_end|>" for text in said)
        assert out["completion_ids"][at][-1] == tokenizer.eos_token_id
        assert "<tool_response>" in own(out, at, tokenizer, mark=0)
        assert {-0.5 if mask else 0.0 for mask in out["env_mask"][at]} == set(out["logprobs"][at])
        lengths = {len(out[name][at]) for name in ("completion_ids", "logprobs", "env_mask")}
        assert len(lengths) == 1


def test_the_policy_reads_the_episode_and_never_the_row(tokenizer: Any) -> None:
    rollout = desk()
    prompts = prompts_of(rollout, 1)
    vllm = ScriptedVllm(tokenizer, [expert_script(rollout, 0)])
    out = rollout(prompts, trainer_with(vllm))
    text = tokenizer.decode(out["prompt_ids"][0])
    assert "small library" in text
    assert "M-101" in text
    assert text.endswith("<|im_start|>assistant\n")
    assert prompts[0][0]["content"] not in text
    assert "seed" not in text


def test_thinking_is_off_where_it_is_said_here_or_in_trl_and_as_the_policy_was_trained(tmp_path: Path) -> None:
    folder = save_policy(tmp_path, template=FORGETFUL)
    words = AutoTokenizer.from_pretrained(folder)

    def turns(rollout: EpisodesRollout, **more: Any) -> tuple[int, int]:
        vllm = ScriptedVllm(words, [script(f"<think>a</think>{LOOK}", CLOSE)])
        out = rollout(prompts_of(rollout, 1), trainer_with(vllm, **more))
        assert own(out, 0, words) == f"<think>a</think>{LOOK}<|im_end|>{CLOSE}<|im_end|>"
        text = words.decode([*out["prompt_ids"][0], *out["completion_ids"][0]])
        return text.count("<|im_start|>assistant\n"), text.count(f"<|im_start|>assistant\n{OFF}")

    assert turns(desk()) == turns(desk(thinking="keep")) == (2, 0)
    assert turns(desk(thinking="never")) == turns(desk(), enable_thinking=False) == (2, 2)
    write_card(folder, Card(thinking="never"))
    assert turns(desk()) == (2, 2)
    for rollout, more in ((desk(thinking="keep"), {}), (desk(thinking="keep"), {"enable_thinking": False})):
        with pytest.raises(InputError, match=r"'keep'"):
            turns(rollout, **more)
    with pytest.raises(InputError, match=r"thinking is 'drop'.*'never' or 'keep'"):
        desk(thinking="drop")


def test_the_token_limits_cut_and_the_cut_is_judged(tokenizer: Any) -> None:
    rollout = desk(turn_tokens=40)
    vllm = ScriptedVllm(tokenizer, [lambda turn: "x" * 30, lambda turn: "x" * 100])
    out = rollout(prompts_of(rollout, 1, 2), trainer_with(vllm, length=300))
    assert max(vllm.limits) == 40
    assert vllm.max_completion_length == 10_000
    assert out["valid"] == [True, True]
    assert out["reward"] == [0.0, 0.0]
    assert all(len(ids) <= 300 for ids in out["completion_ids"])
    assert max(map(len, out["completion_ids"])) > 200


def test_a_prompt_that_is_too_long_ends_the_training(tokenizer: Any) -> None:
    rollout = episodes_rollout(DESK, domain=str(LIBRARY), max_prompt_length=50)
    vllm = ScriptedVllm(tokenizer, [script("x")])
    with pytest.raises(InputError, match=r"may have 50.*max_prompt_length"):
        rollout(prompts_of(rollout, 1), trainer_with(vllm))


def test_faults_are_masked_and_have_no_reward(tokenizer: Any) -> None:
    expert = expert_script(desk(), 0)
    rollout = desk(simulator=breaking("", "reset", "call"))
    vllm = ScriptedVllm(tokenizer, [expert, expert, expert])
    out = rollout(prompts_of(rollout, 1, 4), trainer_with(vllm))
    assert out["fault"].count("timeout") == 2
    assert out["fault"].count(None) == 2
    for at, fault in enumerate(out["fault"]):
        assert out["reward"][at] == (None if fault else 1.0)
        assert any(out["env_mask"][at]) == (fault is None)
        assert out["completion_ids"][at]
        assert out["prompt_ids"][at]
    logged: list[tuple[str, float]] = []

    def log(name: str, value: float) -> None:
        logged.append((name, value))

    rewards = episode_reward(log_metric=log, prompts=[], completions=[], **out)
    assert sorted(rewards, key=str) == [1.0, 1.0, None, None]
    assert ("episodes/faults/timeout", 0.5) in logged
    assert sorted(value for name, value in logged if name == "episodes/valid") == [0, 0, 1, 1]
    assert [value for name, value in logged if name == "episodes/success"] == [1, 1]
    logged.clear()
    episode_reward(reward=[1.0], valid=[True], success=[True], turns=[1], fault=[None], log_metric=log)
    assert ("episodes/faults/timeout", 0.0) in logged  # a mean over batches counts those without it, too


def script_of_a_dying_engine(*texts: str) -> Callable[[int], str]:
    def say(turn: int) -> str:
        if turn == len(texts):
            raise ConnectionError("vLLM is gone")
        return texts[turn]

    return say


def test_where_vllm_fails_every_episode_that_waits_is_told(tokenizer: Any) -> None:
    rollout = desk()
    vllm = ScriptedVllm(tokenizer, [script(CLOSE), *[script_of_a_dying_engine(LOOK)] * 2])
    out = rollout(prompts_of(rollout, 1, 3), trainer_with(vllm))
    assert out["fault"] == [None, "bug", "bug"]
    assert vllm.max_completion_length == 10_000


def test_an_engine_that_fails_in_every_episode_ends_the_training(tokenizer: Any) -> None:
    vllm = ScriptedVllm(tokenizer, [script_of_a_dying_engine()] * 3)
    rollout = desk()
    with pytest.raises(RuntimeError, match=r"policy:bug 3\): ConnectionError: vLLM is gone"):
        rollout(prompts_of(rollout, 1, 3), trainer_with(vllm))


def test_three_batches_without_a_group_that_teaches_end_the_training(tokenizer: Any) -> None:
    rollout = desk(simulator=breaking("reset", "", "reset", "reset", "", "", *["reset", "", "reset", "reset"] * 3))
    prompts = prompts_of(rollout, 2, 2)
    close = script(CLOSE)

    def batch() -> dict[str, Any]:
        return rollout(prompts, trainer_with(ScriptedVllm(tokenizer, [close] * 4)))

    assert batch()["valid"] == [False, True, False, False]
    trainer = trainer_with(ScriptedVllm(tokenizer, [close] * 2))
    assert rollout(prompts[:2], trainer)["valid"] == [True, True]  # this one teaches: the count begins anew
    batch()
    batch()
    with pytest.raises(RuntimeError, match=r"3 batches in a row.*simulator:timeout 9"):
        batch()


def test_a_kind_of_fault_is_logged_in_every_process_from_its_first_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """This one has met a fault of one kind, another process one of another: both log both, or the mean is wrong."""
    need("accelerate")
    monkeypatch.setattr("accelerate.utils.gather_object", lambda kinds: [*kinds, "refused"])
    monkeypatch.setattr("simia_gym.rl.for_trl.rewards._seen", set())
    logged: list[tuple[str, float]] = []
    found = episode_reward(
        reward=[0.0, 1.0],
        valid=[False, True],
        success=[False, True],
        turns=[1, 2],
        fault=["timeout", None],
        log_metric=lambda name, value: logged.append((name, value)),
    )
    assert found == [None, 1.0]
    faults = [item for item in logged if item[0].startswith("episodes/faults/")]
    assert faults == [("episodes/faults/refused", 0.0), ("episodes/faults/timeout", 0.5)]


def test_adapters_that_write_into_the_prompt_are_refused() -> None:
    adapter = SimpleNamespace(is_prompt_learning=False, peft_type=SimpleNamespace(value="PROMPT_TUNING"))
    trainer = SimpleNamespace(min_p=None, repetition_penalty=1.0, model=SimpleNamespace(active_peft_config=adapter))
    _check(trainer)
    adapter.is_prompt_learning = True
    with pytest.raises(InputError, match=r"peft_config: the adapter PROMPT_TUNING"):
        _check(trainer)


def test_a_group_may_be_spread_over_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here and there one valid episode each: together they teach, whatever this process sees of them."""
    need("accelerate")
    fault = SimpleNamespace(role="simulator", kind="timeout", message="late")
    own: list[Any] = [SimpleNamespace(valid=True, fault=None), SimpleNamespace(valid=False, fault=fault)]
    trainer = SimpleNamespace(model=SimpleNamespace(training=True))
    others: list[Any] = [("a", None, "")]
    monkeypatch.setattr("accelerate.utils.gather_object", lambda facts: [*facts, *others])
    check = BatchCheck()
    for _ in range(2 * TRIES):
        check.check(["a", "b"], own, trainer)
    others[:] = [("b", None, "")]
    for _ in range(TRIES - 1):
        check.check(["a", "b"], own, trainer)
    with pytest.raises(RuntimeError, match="simulator:timeout 3"):
        check.check(["a", "b"], own, trainer)


def test_an_evaluation_may_have_groups_of_one(tokenizer: Any) -> None:
    rollout = desk()
    close = script(CLOSE)
    for _ in range(4):
        trainer = trainer_with(ScriptedVllm(tokenizer, [close] * 2))
        trainer.model.training = False
        assert rollout(prompts_of(rollout, 2), trainer)["valid"] == [True, True]


def test_episodes_that_end_early_hold_nobody_up(tokenizer: Any) -> None:
    rollout = desk(max_turns=5)
    vllm = ScriptedVllm(tokenizer, [script(CLOSE), script(*[LOOK] * 5), script(LOOK.replace("M-101", "M-102"), CLOSE)])
    out = rollout(prompts_of(rollout, 1, 3), trainer_with(vllm))
    assert vllm.rounds == [3, 2, 1, 1, 1]
    assert out["turns"] == [1, 5, 2]


def test_a_group_shares_its_world_and_another_round_is_another(tokenizer: Any) -> None:
    groups: list[str] = []
    plain = make_suite("simia/webshop-v0", {"prompt": "compact"})
    made = plain.episode

    def spying() -> Any:
        episode = made()
        reset = episode.reset

        async def spy(task: Any, *, seed: int, group: str) -> Any:
            groups.append(f"{task.id} {seed} {group}")
            return await reset(task, seed=seed, group=group)

        episode.reset = spy  # type: ignore[method-assign, assignment]
        return episode

    plain.episode = spying  # type: ignore[method-assign]
    rollout = EpisodesRollout(plain, max_prompt_length=9000)
    for step in (0, 1):
        vllm = ScriptedVllm(tokenizer, [script("click[buy now]")] * 6)
        rollout(prompts_of(rollout, 2, 3), trainer_with(vllm, length=30, step=step))
    assert [len(set(groups[at : at + 3])) for at in (0, 3, 6, 9)] == [1, 1, 1, 1]
    assert len(set(groups)) == 4


def test_completions_of_somebody_else_are_refused() -> None:
    with pytest.raises(InputError, match="episodes_rollout"):
        episode_reward(prompts=["x"], completions=["y"])
    with pytest.raises(InputError, match="dataset"):
        desk()(["What is 2 + 2?"], None)
    with pytest.raises(InputError, match="slots"):
        desk(slots=0)
