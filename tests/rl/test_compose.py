"""Profiles and runs become configurations that verl composes and takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from simia_gym.errors import InputError

from .libraries import need

need("torch", "verl", "hydra")

import re

from transformers import AutoConfig

from simia_gym.cli.app import run as main
from simia_gym.rl.grpo.config.options import make_plan
from simia_gym.rl.grpo.config.profile import load_profile, profile_names
from simia_gym.rl.grpo.config.verl_config import as_yaml, check_supported, compose, overrides, validate
from simia_gym.rl.small.card import Card, write_card
from simia_gym.rl.verl_run.hydra import flat, quoted

from .grpo_options import grpo_options

RETAIL, WEBSHOP = "simia/retail-v0", "simia/webshop-v0"


def words_of(**options: Any) -> list[str]:
    asked = grpo_options(**{"env": (RETAIL,), **options})
    plan = make_plan(asked, load_profile(asked.launch.profile))
    return overrides(plan, run=Path("/runs/a b"), policy="/models/x", rows=512, environment={"A": "1"})


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_is_composed_and_valid(name: str) -> None:
    config = compose(words_of(profile=name))
    validate(config)
    assert config.algorithm.adv_estimator == "simia_grpo"
    assert config.algorithm.rollout_correction.rollout_is == "token"  # rollouts may have another precision
    assert config.actor_rollout_ref.rollout.agent.default_agent_loop == "simia"
    assert config.data.train_files == "/runs/a b/train.parquet"
    assert config.trainer.total_epochs * (512 // config.data.train_batch_size) >= config.trainer.total_training_steps
    assert config.ray_kwargs.ray_init.runtime_env.env_vars == {"A": "1"}
    assert (config.data.truncation, config.data.filter_overlong_prompts) == ("error", False)  # prompts are never cut


def test_a_run_stands_in_the_configuration() -> None:
    config = compose(
        words_of(
            steps=7, groups=3, group_size=5, learning_rate=2e-4, max_prompt_length=900, max_response_length=300, seed=11
        )
    )
    rollout, actor = config.actor_rollout_ref.rollout, config.actor_rollout_ref.actor
    assert (config.trainer.total_training_steps, config.data.train_batch_size, rollout.n) == (7, 3, 5)
    assert (actor.ppo_mini_batch_size, actor.optim.lr) == (3, 2e-4)
    assert (rollout.prompt_length, rollout.response_length, rollout.max_model_len) == (900, 300, 1200)
    assert config.data.seed == rollout.seed == 11
    assert actor.optim.lr_warmup_steps == 0
    assert compose(words_of(steps=25)).actor_rollout_ref.actor.optim.lr_warmup_steps == 2
    assert config.trainer.logger == ["console", "file"]
    assert config.actor_rollout_ref.actor.checkpoint.save_contents == ["model", "optimizer", "extra", "hf_model"]


def test_the_engine_has_verls_name() -> None:
    for profile, engine, name in (("cpu", "hf", "hf_server"), ("cpu", "vllm", "vllm_cpu"), ("gpu_1x8", "vllm", "vllm")):
        assert compose(words_of(profile=profile, engine=engine)).actor_rollout_ref.rollout.name == name


def test_validation_samples_as_training_does_unless_it_is_said_otherwise() -> None:
    def sampling(**options: Any) -> list[tuple[float, float, int]]:
        rollout = compose(words_of(**options)).actor_rollout_ref.rollout
        return [(one.temperature, one.top_p, one.top_k) for one in (rollout, rollout.val_kwargs)]

    assert sampling() == [(1.0, 1.0, -1)] * 2
    assert sampling(temperature=0.7) == [(0.7, 1.0, -1)] * 2
    key = "actor_rollout_ref.rollout"
    typed = (f"{key}.temperature=0.6", f"{key}.top_p=0.9", f"{key}.top_k=20")
    assert sampling(temperature=0.7, overrides=typed) == [(0.6, 0.9, 20)] * 2
    assert sampling(overrides=(f"{key}.val_kwargs.temperature=0.1",)) == [(1.0, 1.0, -1), (0.1, 1.0, -1)]
    for temperature in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="temperature is"):
            words_of(temperature=temperature)


def test_groups_that_teach_nothing_are_replaced_where_it_is_asked_for() -> None:
    for name in profile_names():
        assert not compose(words_of(profile=name)).trainer.v1.sampler.sampler_kwargs.dynamic
    key = "algorithm.filter_groups"
    config = compose(words_of(groups=6, dynamic_sampling=True))
    check_supported(config)
    asked = dict(config.trainer.v1.sampler.sampler_kwargs)
    del asked["batches"]
    assert asked == {"dynamic": True, "groups": 6, "at_once": 1, "most": 20}
    with pytest.raises(InputError, match="Use --dynamic-sampling"):
        words_of(overrides=(f"{key}.enable=true",))
    other_metric = {"dynamic_sampling": True, "overrides": (f"{key}.metric=success",)}
    saves_later = {"overrides": ("actor_rollout_ref.actor.checkpoint.async_save=true",)}
    adapter = {"engine": "vllm", "overrides": ("actor_rollout_ref.model.lora_rank=8",)}
    for wrong, what in (
        (other_metric, "by their rewards"),
        (saves_later, "async_save"),
        (adapter, "vllm_cpu takes no"),
    ):
        with pytest.raises(InputError, match=what):
            check_supported(compose(words_of(**wrong)))
    merged = (*adapter["overrides"], "actor_rollout_ref.model.lora.merge=true")
    check_supported(compose(words_of(engine="vllm", overrides=merged)))


def test_thinking_is_as_asked_for_else_as_trained_else_the_profiles(tmp_path: Path) -> None:
    def switch(profile: str = "cpu", trained: Any = None, **options: Any) -> dict[str, Any]:
        write_card(tmp_path, Card(thinking=trained))
        return dict(compose(words_of(profile=profile, policy=str(tmp_path), **options)).data.apply_chat_template_kwargs)

    off = {"enable_thinking": False}
    assert [switch(name) for name in ("cpu", "gpu_1x8", "multi_node")] == [{}, off, off]
    assert switch("gpu_1x8", trained="keep") == switch("gpu_1x8", thinking="keep") == {}
    assert switch(trained="never") == switch(thinking="never") == switch(trained="never", thinking="never") == off
    with pytest.raises(InputError, match="trained with thinking 'keep', and 'never'"):
        switch(trained="keep", thinking="never")
    with pytest.raises(InputError, match="Use --thinking"):
        switch(overrides=("+data.apply_chat_template_kwargs.enable_thinking=false",))


@pytest.mark.parametrize("trainer", ["sft", "grpo"])
def test_to_drop_earlier_thinking_is_refused(trainer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", trainer, RETAIL, "--thinking", "drop"]) == 2
    assert re.search(r"--thinking.*'drop' is not one of 'never', 'keep'", capsys.readouterr().err, re.S)


def test_logits_are_left_to_a_model_that_does_more_to_them() -> None:
    asked = grpo_options(env=(RETAIL,))
    plan = make_plan(asked, load_profile("cpu"))
    for kind, plain in (("llama", True), ("cohere", False)):
        model = AutoConfig.for_model(kind)
        words = overrides(plan, run=Path("/r"), policy="/m", rows=8, environment={}, model=model)
        assert compose(words).actor_rollout_ref.model.use_fused_kernels is plain


SMALL = {"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3}
SMALL |= {"intermediate_size": 1536, "vocab_size": 49_152}
"""135 million parameters."""


def test_sizes_on_cpu_follow_those_of_the_policy(tmp_path: Path) -> None:
    def composed(**given: Any) -> tuple[int, bool, int, int]:
        model = AutoConfig.for_model("llama", **{**SMALL, **given})
        plan = make_plan(grpo_options(), load_profile("cpu"))
        words = overrides(plan, run=tmp_path, policy=str(tmp_path), rows=8, environment={}, model=model)
        part = compose(words).actor_rollout_ref
        bucket = part.rollout.checkpoint_engine.update_weights_bucket_megabytes
        actor = (part.actor.ppo_max_token_len_per_gpu, part.model.enable_gradient_checkpointing)
        return *actor, part.rollout.max_num_seqs, bucket

    tiny = {"hidden_size": 72, "num_hidden_layers": 2, "intermediate_size": 256, "vocab_size": 900}
    assert composed(**tiny) == (16384, False, 64, 32)
    tokens, recompute, sequences, bucket = composed()
    assert 3072 <= tokens < 16384  # an episode fits, what the profile allows does not
    assert not recompute
    assert sequences * 3072 * 30 * 2 * 3 * 64 * 4 <= 2**31
    assert bucket * 2**20 >= 49_152 * 576 * 4
    tokens, recompute, *_ = composed(num_hidden_layers=60)
    assert tokens >= 3072
    assert recompute


def test_typed_overrides_come_last() -> None:
    typed = ("actor_rollout_ref.actor.use_kl_loss=true", "+trainer.mine=1", "trainer.v1.trainer_mode=colocate_async")
    config = compose(words_of(overrides=typed))
    assert config.actor_rollout_ref.actor.use_kl_loss is True
    assert config.trainer.mine == 1
    assert config.trainer.v1.trainer_mode == "colocate_async"
    with pytest.raises(InputError, match=r"trainer\.stepss"):
        compose(words_of(overrides=("trainer.stepss=1",)))


def test_what_verl_refuses_is_said_in_one_line() -> None:
    config = compose(words_of(overrides=("actor_rollout_ref.actor.loss_agg_mode=mean-of-all",)))
    with pytest.raises(InputError, match="verl refuses this configuration") as caught:
        validate(config)
    assert "\n" not in str(caught.value)


def test_profiles_set_only_keys_that_verl_declares() -> None:
    """A key below ``set`` that a later verl no longer knows is an error of Hydra; one below ``add`` must be new."""
    plain = yaml.safe_load(as_yaml(compose(["actor_rollout_ref.rollout.name=vllm"])))
    for name in profile_names():
        profile = load_profile(name)
        for key, _ in flat(profile.add):
            place: Any = plain
            parts = key.split(".")
            for part in parts[:-1]:
                place = place.get(part, {}) if isinstance(place, dict) else {}
            assert not isinstance(place, dict) or parts[-1] not in place, f"{name}: verl declares {key}"


@pytest.mark.parametrize("value", ["a b", 'q"u', "x=y,{z}", "back\\slash", "", 3, 1.5, True, None, ["a", "b c"]])
def test_values_come_through_hydra_as_they_are(value: Any) -> None:
    word = f"+mine={quoted(value)}"
    config = compose(["actor_rollout_ref.rollout.name=vllm", word])
    found = list(config.mine) if isinstance(value, list) else config.mine
    assert found == value


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("inherits: cpu\nlaunch: {turn_tokens: 48}\nset: {trainer: {n_gpus_per_node: 2}}\n")
    asked = grpo_options(env=(RETAIL,))
    assert make_plan(asked, load_profile(str(path))).turn_tokens == 48
    assert make_plan(replace(asked, training={"turn_tokens": 9}), load_profile(str(path))).turn_tokens == 9
    assert make_plan(asked, load_profile("cpu")).turn_tokens is None
    assert compose(words_of(profile=str(path))).trainer.n_gpus_per_node == 2
    path.write_text("inherits: cpu\nlaunch: {turn_token: 48, group: 2}\n")
    for name, what in (
        (str(path), "unknown group, turn_token"),
        ("none.yaml", "cannot be read"),
        ("gpu", "no profile"),
    ):
        with pytest.raises(InputError, match=what):
            load_profile(name)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"env": ("simia/retail-v0=0",)}, "the weight"),
        ({"env": ("simia/retail-v0=x",)}, "the weight"),
        ({"env": (RETAIL, "retail=2")}, "named twice"),
        ({"env": ("simia/nowhere-v0",)}, "there is no environment"),
        ({"engine": "sglang"}, "engine is 'sglang'"),
        ({"logger": ("mlflow",)}, "logger is"),
        ({"learning_rate": 0.0}, "learning_rate is"),
        ({"prompt": "short"}, "prompt is 'short'"),
        ({"group_size": 1}, "group_size is 1"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        words_of(**options)


def test_environments_and_their_weights() -> None:
    asked = grpo_options(env=("retail", f"{WEBSHOP}=2.5"), model="m", simulator="llm", generated=9)
    plan = make_plan(asked, load_profile("cpu"))
    assert [(config.env, weight) for config, weight in plan.environments] == [(RETAIL, 1.0), (WEBSHOP, 2.5)]
    assert {config.split for config, _ in plan.validation} == {"dev"}
    assert [config.generated for config, _ in plan.environments] == [9, 9]
    assert [config.generated for config, _ in plan.validation] == [0, 0]
    assert plan.name == "retail-v0-webshop-v0-cpu"
