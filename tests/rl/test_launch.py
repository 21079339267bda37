"""A launch without a training: folders, marks, metrics, checkpoints, errors, and the log of episodes."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.sources import ModelSources
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.rl.extras import cores
from simia_gym.rl.grpo.config.options import make_plan
from simia_gym.rl.grpo.config.profile import load_profile
from simia_gym.rl.grpo.in_verl.worlds import RunSettings, Worlds
from simia_gym.rl.grpo.launch import failed, last_words, run_grpo
from simia_gym.rl.grpo.prepare import addresses, check_policy
from simia_gym.rl.grpo.run import checkpoints
from simia_gym.rl.grpo.run.environment import make_ray_folder, variables
from simia_gym.rl.grpo.run.episodes import (
    ROLLOUTS,
    EpisodeLine,
    EpisodeLog,
    forget_after,
    forget_validation,
)
from simia_gym.rl.grpo.run.metrics import Metrics, draw, go_back, make_up, read_metrics, summed, totals
from simia_gym.rl.grpo.run.progress import facts_of
from simia_gym.rl.grpo.run.run_folder import RunFolder, fixed, only_one
from simia_gym.rl.resume import check_settings, write_settings
from simia_gym.rl.verl_run.log import last_error
from simia_gym.rl.verl_run.process import MARK, PLUG_IN, end_marked, mark_of, marked

from .grpo_options import LINE, MASKED, grpo_options, read_episodes
from .libraries import need


def write_episodes(run: Path, *lines: EpisodeLine, worker: int = 0) -> None:
    log = EpisodeLog(run, worker)
    for line in lines:
        log.write(line)
    log.close()


def test_what_a_killed_writer_left_is_passed_over_and_cut_off(tmp_path: Path) -> None:
    write_episodes(tmp_path, LINE)
    path = tmp_path / "episodes" / "worker-0.jsonl"
    path.write_bytes(path.read_bytes() + b'{"step":2,"purp')
    assert list(read_episodes(tmp_path)) == [LINE]
    write_episodes(tmp_path, MASKED)
    assert list(read_episodes(tmp_path)) == [LINE, MASKED]


def test_two_writers_never_write_to_one_file(tmp_path: Path) -> None:
    one, two = EpisodeLog(tmp_path), EpisodeLog(tmp_path)
    one.write(LINE)
    two.write(MASKED)
    one.write(LINE)
    assert len(list((tmp_path / "episodes").iterdir())) == 2
    assert sorted(line.valid for line in read_episodes(tmp_path)) == [False, True, True]
    one.close()
    two.close()


def test_steps_that_are_played_again_are_forgotten(tmp_path: Path) -> None:
    write_episodes(tmp_path, *(replace(LINE, step=step) for step in (1, 2, 3, 2)))
    forget_after(tmp_path, 2)
    assert [line.step for line in read_episodes(tmp_path)] == [1, 2, 2]
    forget_after(tmp_path / "nowhere", 2)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "worker-0.jsonl").write_text('{"step": 1}\n{"step": ')
    forget_after(tmp_path, 1)
    (tmp_path / "episodes" / "worker-0.jsonl").write_text('{"step": 1}\n{"step": \n')
    with pytest.raises(InputError, match=r"worker-0\.jsonl:2: the line is broken \(Expecting value"):
        forget_after(tmp_path, 1)


def test_a_process_loads_an_environment_once(tmp_path: Path) -> None:
    config = '{"env":"simia/webshop-v0"}'
    worlds = Worlds(RunSettings(run=str(tmp_path), max_calls=10, max_cost=2.0))
    suite = worlds.suite(config)
    assert worlds.suite(config) is suite
    assert suite.resources.budget is not None
    budget = suite.resources.budget
    assert (budget.max_calls, budget.max_tokens, budget.max_cost) == (10, None, 2.0)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """The folder of a run."""
    return RunFolder(tmp_path)


def write_verl(path: Path, *steps: int, **data: float) -> None:
    with path.open("a", encoding="utf-8") as file:
        for step in steps:
            file.write(json.dumps({"step": step, "data": {"timing_s/step": 2.0, **data}}) + "\n")


def write_batches(folder: RunFolder, *batches: tuple[int, str]) -> None:
    with (folder.path / "batches.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"step": step, "groups": [uid]}) + "\n" for step, uid in batches)


def plan_of(**options: Any) -> Any:
    return make_plan(grpo_options(**{"env": ("simia/retail-v0",), **options}), load_profile("cpu"))


def test_sums_are_over_valid_episodes_and_count_the_others() -> None:
    lines = [LINE, replace(LINE, reward=0.0, success=False), MASKED, replace(LINE, env="simia/webshop-v0", kind="buy")]
    sums = summed(lines)
    assert (sums["episodes"], sums["masked"], sums["valid_share"]) == (4, 1, 0.75)
    assert sums["reward"] == sums["success"] == pytest.approx(2 / 3)
    assert sums["faults"] == {"simulator:timeout": 1}
    assert sums["policy_tokens"] == 40
    retail = sums["by_env"]["simia/retail-v0"]
    assert (retail["episodes"], retail["masked"], retail["reward"]) == (3, 1, 0.5)
    assert sums["by_env"]["simia/webshop-v0"]["by_kind"]["buy"]["success"] == 1.0
    sums = summed([MASKED, MASKED])
    assert (sums["reward"], sums["success"], sums["valid_share"]) == (None, None, 0.0)


def test_groups_teach_where_the_rewards_of_valid_episodes_differ() -> None:
    def of(uid: str, *rewards: float | None) -> list[EpisodeLine]:
        return [replace(LINE, uid=uid, reward=one, valid=one is not None) for one in rewards]

    lines = [*of("a", 1.0, 0.0), *of("b", 0.0, 0.0), *of("c", 1.0, None), *of("d", 0.5, None, 0.25)]
    assert summed(lines)["groups"] == {"played": 4, "mixed": 2}
    assert "2 of 4 groups teach" in facts_of({"step": 1, "train": summed(lines)})
    assert "groups" not in summed([*of("a", 1.0), *of("b", 0.0)]), "a validation has no groups"


def test_the_health_of_a_step_is_told_with_an_example_and_what_to_do(tmp_path: Path) -> None:
    silent = replace(LINE, sample=1, uid="v", reward=0.0, health={"empty_turns": 2, "no_tool_call": 1})
    lines = [LINE, replace(LINE, sample=1), replace(LINE, uid="v"), silent, replace(MASKED, uid="w", turns=9)]
    sums = summed(lines)
    found = {name: (sign["found"], sign["of"], sign["unit"]) for name, sign in sums["health"].items()}
    assert found == {
        "empty_turns": (2, 21, "turns"),
        "no_tool_call": (1, 5, "episodes"),
        "equal_rewards": (1, 2, "groups"),
        "faults": (1, 5, "episodes"),
    }
    assert sums["health"]["empty_turns"]["example"] == {"task": "t", "group": "g", "sample": 1}
    assert "health" not in summed([LINE])
    step = facts_of({"step": 1, "train": sums})
    assert "empty turns 2/21 · no tool call 1/5" in step
    assert "equal rewards" not in step, "the groups that teach say it"
    words = "\n".join(last_words(totals([{"step": 1, "train": sums}]), plan_of(), RunFolder(tmp_path), None))
    for sign in sums["health"].values():
        assert sign["advice"] in words
    assert "empty turns: 2 of 21 turns (9.5%), such as task t, group g, sample 1" in words


def test_metrics_join_verls_numbers_with_the_episodes_of_all_workers(folder: RunFolder) -> None:
    attempt = folder.new_attempt()
    metrics = Metrics(folder, attempt)
    assert metrics.look() == []
    write_episodes(folder.path, LINE)
    write_episodes(folder.path, MASKED, replace(LINE, step=1, purpose="val", reward=0.25), worker=1)
    assert metrics.ended(1) == 2
    write_verl(attempt, 1, **{"actor/grad_norm": 0.5})
    (line,) = metrics.look()
    assert line["train"]["episodes"] == 2
    assert line["val"]["reward"] == 0.25
    assert line["tokens_per_second"] == 10.0
    assert line["verl"]["actor/grad_norm"] == 0.5
    assert read_metrics(folder.metrics) == [line]


def test_an_asynchronous_step_has_the_episodes_of_its_batch_whenever_they_were_played(folder: RunFolder) -> None:
    """As in verl's ``colocate_async``, which begins a batch more in step 1; the group ``d`` is replaced."""
    attempt = folder.new_attempt()
    metrics = Metrics(folder, attempt)
    rewards = {"a": (1, 1.0), "b": (1, 0.0), "c": (2, 0.5), "d": (2, 0.25)}
    write_episodes(
        folder.path, *(replace(LINE, uid=uid, step=step, reward=one) for uid, (step, one) in rewards.items())
    )
    assert metrics.ended(1) == 2
    write_batches(folder, (1, "a"))
    assert metrics.ended(2) == 3
    write_verl(attempt, 1)
    write_batches(folder, (2, "d"), (2, "b"), (3, "c"))
    write_verl(attempt, 2, 3)
    lines = metrics.look()
    assert [line["train"]["reward"] for line in lines] == [1.0, 0.125, 0.5]
    assert totals(lines)["episodes"] == 4
    # Resumed after step 2: group c waited then, and is played again.
    assert not go_back(folder, 2)
    forget_after(folder.path, 2)
    write_episodes(folder.path, replace(LINE, uid="c", step=3, reward=0.75))
    write_batches(folder, (3, "c"))
    again = folder.new_attempt()
    write_verl(again, 3)
    (line,) = Metrics(folder, again).look()
    assert (line["train"]["episodes"], line["train"]["reward"]) == (1, 0.75)


def test_a_resumed_run_has_no_step_twice(folder: RunFolder) -> None:
    first = folder.new_attempt()
    write_verl(first, 0, 1, 2, 3)
    Metrics(folder, first).look()
    with folder.metrics.open("a", encoding="utf-8") as file:
        file.write('{"step": 4, "tor')
    assert not go_back(folder, 2)
    second = folder.new_attempt()
    assert second != first
    write_verl(second, 3, 4)
    Metrics(folder, second).look()
    assert [line["step"] for line in read_metrics(folder.metrics)] == [0, 1, 2, 3, 4]


def test_what_the_launch_did_not_live_to_write_is_taken_from_verls_own_files_the_last_of_them_first(
    folder: RunFolder,
) -> None:
    first = folder.new_attempt()
    write_verl(first, 0, 1)
    Metrics(folder, first).look()
    write_verl(first, 2, 3)
    write_verl(folder.attempts / "10.jsonl", 2, number=10)
    write_verl(folder.attempts / "9.jsonl", 2, number=9)
    assert not go_back(folder, 2)
    lines = read_metrics(folder.metrics)
    assert [line["step"] for line in lines] == [0, 1, 2]
    assert lines[2]["verl"]["number"] == 10
    assert not go_back(folder, -1)
    assert read_metrics(folder.metrics) == []


def test_a_step_that_was_saved_and_not_measured_is_made_up_from_its_episodes(folder: RunFolder) -> None:
    first = folder.new_attempt()
    write_verl(first, 1)
    write_episodes(folder.path, LINE, replace(LINE, step=2), replace(LINE, step=2, purpose="val", reward=0.5))
    assert go_back(folder, 2)
    forget_validation(folder.path, 2)
    make_up(folder, 2)
    lines = read_metrics(folder.metrics)
    assert [line["step"] for line in lines] == [1, 2]
    assert lines[1]["train"]["episodes"] == 1
    assert "val" not in lines[1]


def test_a_validation_that_is_played_again_leaves_no_record_behind(tmp_path: Path) -> None:
    (tmp_path / ROLLOUTS).mkdir()
    path = tmp_path / ROLLOUTS / "retail-v0.worker-0.jsonl"
    places = [("grpo@1", "val-0"), ("grpo@2", "train-0"), ("grpo@2", "val-0"), ("grpo@2", "val-1")]
    records = [{"policy": policy, "run": {"seed": 1, "policy_hash": purpose}} for policy, purpose in places]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    forget_validation(tmp_path, 2)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == records[:2]


def test_numbers_that_are_none_are_null(folder: RunFolder) -> None:
    attempt = folder.new_attempt()
    write_verl(attempt, 1, **{"actor/grad_norm": math.nan, "actor/kl": math.inf, "actor/lr": 0.5})
    for write in (lambda: Metrics(folder, attempt).look(), lambda: go_back(folder, 1)):
        write()
        text = folder.metrics.read_text(encoding="utf-8")
        assert "NaN" not in text
        verl = json.loads(text)["verl"]
        assert [verl[name] for name in ("actor/grad_norm", "actor/kl", "actor/lr")] == [None, None, 0.5]


def test_totals() -> None:
    lines = [
        {"step": 0, "val": summed([replace(LINE, reward=0.5, split="dev")])},
        {"step": 1, "train": summed([LINE, MASKED])},
        {"step": 2, "train": summed([LINE, LINE])},
    ]
    found = totals(lines)
    assert (found["steps"], found["episodes"], found["masked"]) == (2, 4, 1)
    assert found["faults"] == {"simulator:timeout": 1}
    assert found["validation"] == {
        "step": 0, "episodes": 1, "masked": 0, "reward": 0.5, "success": 1.0, "prompt": "compact", "split": "dev",
    }  # fmt: skip
    assert found["prompt"] == "compact"
    assert facts_of(lines[0]).startswith("validation on dev: reward 0.5")
    assert "models" not in found


def test_what_models_took_is_added_over_episodes_and_steps() -> None:
    spent = {"calls": 3, "prompt_tokens": 900, "cached_tokens": 500, "completion_tokens": 100, "cost_usd": 0.5}
    one = {"simulator": {**spent, "failures": {"timeout": 1}, "faults": {}}}
    two = {**one, "user": {**spent, "failures": {}, "faults": {"timeout": 1}}}
    train = summed([replace(LINE, models=one), LINE, replace(LINE, models=two)])
    assert train["models"]["simulator"]["calls"] == 6
    assert train["models"]["simulator"]["failures"] == {"timeout": 2}
    found = totals([{"step": 1, "train": train}, {"step": 1, "val": summed([replace(LINE, models=two)])}])
    assert {role: values["calls"] for role, values in found["models"].items()} == {"simulator": 9, "user": 6}
    assert found["models"]["user"]["faults"] == {"timeout": 2}


@pytest.mark.slow
def test_the_curve_is_a_picture(folder: RunFolder) -> None:
    pytest.importorskip("matplotlib", reason='matplotlib is not installed: pip install "simia-gym[rl]"')
    for steps in ([], [1, 2]):
        lines = [{"step": step, "train": summed([MASKED]), "val": summed([LINE])} for step in steps]
        folder.metrics.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        draw(folder, "x")
        assert folder.curve.read_bytes().startswith(b"\x89PNG")


def make_checkpoint(folder: Path, step: int, *, mark: bool = True) -> Path:
    path = folder / f"global_step_{step}"
    (path / "actor" / "huggingface").mkdir(parents=True)
    for name in ("actor/model.pt", "data.pt", "actor/huggingface/model.safetensors", "actor/huggingface/config.json"):
        (path / name).write_bytes(b"x" * step)
    if mark:
        checkpoints.mark_complete(path, step)
    return path


def test_only_a_checkpoint_that_is_whole_is_gone_on_from(tmp_path: Path) -> None:
    assert checkpoints.latest_complete(tmp_path / "none") is None
    make_checkpoint(tmp_path, 2)
    make_checkpoint(tmp_path, 10)
    unmarked = make_checkpoint(tmp_path, 12, mark=False)
    cut = make_checkpoint(tmp_path, 11)
    (cut / "data.pt").write_bytes(b"x")
    latest = checkpoints.latest_complete(tmp_path)
    assert latest is not None
    assert checkpoints.step_of(latest) == 10
    assert checkpoints.remove_incomplete(tmp_path) == [11, 12]
    assert not cut.exists()
    assert not unmarked.exists()


ACTOR = "actor_rollout_ref.actor"
KL, MORE = f"{ACTOR}.use_kl_loss=true", f"{ACTOR}.ppo_max_token_len_per_gpu=8192"


def test_a_run_goes_on_with_other_limits_of_memory_and_no_other_settings(folder: RunFolder) -> None:
    with pytest.raises(InputError, match="no training has begun"):
        check_settings(folder.path, plan_of().to_json(), fixed)
    write_settings(folder.path, plan_of(overrides=(KL, MORE)).to_json())
    memory = (f"{ACTOR}.fsdp_config.param_offload=true", "actor_rollout_ref.rollout.gpu_memory_utilization=0.4")
    for more in ((), memory, (MORE.replace("8192", "4096"),), ("algorithm.filter_groups.max_num_gen_batches=40",)):
        check_settings(
            folder.path, plan_of(steps=99, save_every=3, logger=("wandb",), overrides=(KL, *more)).to_json(), fixed
        )
    others: list[dict[str, Any]] = [{"seed": 1}, {"temperature": 0.5}, {"env": ("simia/webshop-v0",)}]
    for other in (*others, {"overrides": memory}, {"overrides": (KL, MORE, "+trainer.x=1")}):
        with pytest.raises(InputError, match=r"was .* and now is"):
            check_settings(folder.path, plan_of(**{"overrides": (KL, MORE), **other}).to_json(), fixed)


def test_a_start_that_came_to_nothing_leaves_the_folder_free(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    write_settings(folder.path, plan_of().to_json())
    folder.log.write_bytes(b"RuntimeError: 3 batches in a row\n")
    write_episodes(folder.path, MASKED, MASKED, replace(LINE, step=2))
    assert failed(Output(False), plan_of(), folder, 0, 1) == 1
    assert "faults in step 1: simulator:timeout 2" in capsys.readouterr().err
    assert not folder.begun


def test_a_dry_run_writes_into_no_run(folder: RunFolder) -> None:
    need("torch", "transformers", "verl", "ray", "transfer_queue", "hydra")
    write_settings(folder.path, plan_of().to_json())
    (folder.path / "verl.yaml").write_text("mine", encoding="utf-8")
    for resume in (False, True):
        with pytest.raises(InputError, match="contains a training"):
            run_grpo(grpo_options(env=("simia/retail-v0",), out=folder.path, dry_run=True, resume=resume))
    assert (folder.path / "verl.yaml").read_text(encoding="utf-8") == "mine"


def test_settings_hold_no_address_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    models = ModelSources(base_url="http://user:pass@host/v1")
    text = json.dumps(plan_of(models=models, model="m", simulator="llm").to_json())
    assert '"model": "m"' in text
    for secret in ("sk-very-secret", "pass", "host"):
        assert secret not in text


def test_one_launch_a_folder(folder: RunFolder) -> None:
    with only_one(folder), pytest.raises(InputError, match="a training is running"), only_one(folder):
        pass
    with only_one(folder):
        pass


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by their variables on Linux")
def test_only_marked_processes_are_ended(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"

    def start(**more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", code]
        return subprocess.Popen(
            command, env={**os.environ, **more}, start_new_session=True, stdout=subprocess.PIPE, bufsize=0
        )

    ours = start(**{MARK: mark_of(tmp_path)})
    others = [start(**{MARK: mark_of(tmp_path / "sub")}), start()]
    try:
        for process in (ours, *others):
            assert process.stdout is not None
            assert process.stdout.readline(), "it ignores SIGTERM from now on"
        assert marked(tmp_path) == [ours.pid]
        assert end_marked(tmp_path, grace=0.5) == 1
        assert ours.wait(5) == -signal.SIGKILL
        assert [other.poll() for other in others] == [None, None]
    finally:
        for process in (ours, *others):
            process.kill()
            process.communicate()


def test_the_reason_of_an_end_is_found_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"ValueError: of a former start\n")
    offset = log.stat().st_size
    assert last_error(log, offset) is None
    with log.open("ab") as file:
        file.write(
            b"Traceback (most recent call last):\n  x\n"
            b"\x1b[36m(TaskRunnerV1 pid=7)\x1b[0m RuntimeError: three in a row\n"
        )
        file.write(b"KeyboardInterrupt\nsome more words: Error of something\n")
    assert last_error(log, offset) == "RuntimeError: three in a row"
    with log.open("ab") as file:
        file.write(
            b"ray.exceptions.RayTaskError(ValueError): \x1b[36mray::run()\nomegaconf.errors.ConfigKeyError: Key 'x'\n"
        )
    assert last_error(log, offset) == "omegaconf.errors.ConfigKeyError: Key 'x'"


def test_rays_folder_has_a_short_path_and_takes_the_place_of_a_former_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep = tmp_path / ("x" * 60)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    first = make_ray_folder(RunFolder(tmp_path))
    second = make_ray_folder(RunFolder(tmp_path))
    try:
        assert len(str(second)) < 32
        assert second.is_dir()
        assert not first.exists()
    finally:
        shutil.rmtree(second)


def test_variables_of_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", f"mine,{PLUG_IN}")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = variables(load_profile("cpu"), RunFolder(tmp_path), str(tmp_path), tmp_path / "1.jsonl")
    assert found["VERL_USE_EXTERNAL_MODULES"] == f"{PLUG_IN},mine"
    assert found["VERL_PLATFORM"] == "cpu"
    assert (found["OMP_NUM_THREADS"], found["HF_HUB_OFFLINE"]) == (str(cores()), "1")
    assert "sk-very-secret" not in json.dumps(found)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    cards = variables(load_profile("gpu_1x8"), RunFolder(tmp_path), "Qwen/Qwen3-8B", tmp_path / "1.jsonl")
    assert "VERL_PLATFORM" not in cards
    assert "HF_HUB_OFFLINE" not in cards
    again = variables(load_profile("cpu"), RunFolder(tmp_path), "x", tmp_path / "1.jsonl")
    assert again["OMP_NUM_THREADS"] == "3"


def test_a_policy_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config\.json"):
        check_policy(tmp_path, plan_of())
    pytest.importorskip("transformers", reason='transformers is not installed: pip install "simia-gym[rl]"')
    shape = {"model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16}
    shape |= {"intermediate_size": 128, "vocab_size": 10, "max_position_embeddings": 4096}
    (tmp_path / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    check_policy(tmp_path, plan_of())
    with pytest.raises(InputError, match="heads of width 16"):
        check_policy(tmp_path, plan_of(engine="vllm"))
    with pytest.raises(InputError, match="reads 4,096 tokens at most"):
        check_policy(tmp_path, plan_of(max_prompt_length=4000))


def test_the_addresses_of_models_reach_the_processes_by_variables_alone() -> None:
    models = ModelSources(base_url="http://a/v1", judge_base_url="http://b/v1")
    asked = grpo_options(env=("simia/retail-v0",), models=models)
    found = addresses(asked, make_plan(asked, load_profile("cpu")))
    names = [f"SIMIA_{role}_BASE_URL" for role in ("SIMULATOR", "USER", "JUDGE")]
    assert found == dict(zip(names, ("http://a/v1", "http://a/v1", "http://b/v1"), strict=True))
    stronger = replace(models, role={"escalation": {"model": "m"}}, escalation_base_url="http://c/v1")
    plan = make_plan(asked, load_profile("cpu"))
    assert addresses(replace(asked, models=stronger), plan)["SIMIA_ESCALATION_BASE_URL"] == "http://c/v1"
    with pytest.raises(InputError, match=r"before `ray start`"):
        addresses(asked, make_plan(asked, load_profile("multi_node")))
    assert addresses(grpo_options(env=("simia/retail-v0",)), plan_of(profile="cpu")) == {}
