"""Real trainings with verl, Ray and a tiny policy: what comes out, what a kill leaves, what Ctrl-C ends."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..work import wait_until
from .libraries import need

need("torch", "verl", "ray", "transfer_queue", "hydra")

from simia_gym.rl.grpo import checkpoints
from simia_gym.rl.grpo.episodes import EPISODES, read_episodes
from simia_gym.rl.grpo.metrics import read_metrics
from simia_gym.rl.grpo.process import end_marked, marked
from simia_gym.rl.grpo.run_folder import RunFolder
from simia_gym.rl.small.build import build_policy

pytestmark = [pytest.mark.slow_rl, pytest.mark.slow]

RETAIL, WEBSHOP = "simia/retail-v0", "simia/webshop-v0"
PATIENCE = 900.0
"""Seconds that a training may take on a crowded machine; most of it is verl's imports in ten processes."""
FEW_WORDS = ("--turn-tokens", "4", "--max-turns", "3", "--group-size", "4", "--val-tasks", "3", "--lr", "1e-3")
# The letter that decides the reward stands in every twelfth token of such a tokenizer: a policy that knows nothing
# says it in about half of its episodes, so that groups differ and there is something to learn from.
LETTER = """
- id: letter
  kind: communication
  weight: 20
  check: {program: says, any: ["u"], mode: substring}
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny policy with random weights that knows the letters of both domains."""
    return build_policy(
        tmp_path_factory.mktemp("policy") / "tiny", [RETAIL, WEBSHOP], conversations=40, hidden=64, heads=2
    )


@pytest.fixture
def letters(tmp_path: Path, checkout: Path) -> Path:
    """Retail with a reward that a policy without any skill gets now and then."""
    folder = tmp_path / "letters"
    shutil.copytree(checkout / "envs" / "retail", folder, ignore=shutil.ignore_patterns("__pycache__"))
    rubric = folder / "rubric.yaml"
    rubric.write_text(rubric.read_text(encoding="utf-8") + LETTER, encoding="utf-8")
    domain = folder / "domain.yaml"
    text = domain.read_text(encoding="utf-8")
    domain.write_text(f"{text}\nreward_options: {{value: weighted}}\n", encoding="utf-8")
    return folder


@contextmanager
def training(run: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A launch; whatever happens, nothing of it is left behind."""
    run.parent.mkdir(parents=True, exist_ok=True)
    with (run.parent / f"{run.name}.out").open("a", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "simia_gym", "train", "grpo", *words, "--out", str(run), "--json"],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            cwd=run.parent,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            end_marked(run)


def until(condition: Callable[[], object], process: subprocess.Popen[str] | None, run: Path) -> None:
    def so() -> object:
        assert process is None or process.poll() is None, told(run)
        return condition()

    wait_until(so, PATIENCE)


def told(run: Path) -> str:
    out = (run.parent / f"{run.name}.out").read_text(encoding="utf-8")
    log = run / "train.log"
    return out[-2000:] + (log.read_text(encoding="utf-8", errors="replace")[-4000:] if log.exists() else "")


def trained(run: Path, *words: str) -> dict[str, Any]:
    with training(run, *words) as process:
        until(lambda: process.poll() is not None, None, run)
    assert process.returncode == 0, told(run)
    last = (run.parent / f"{run.name}.out").read_text(encoding="utf-8").strip().splitlines()[-1]
    found: dict[str, Any] = json.loads(last)
    return found


def check_numbers(lines: list[dict[str, Any]]) -> None:
    """What holds in every step of a training that is right."""
    measured = [line for line in lines if "actor/grad_norm" in line["verl"]]  # not the steps after which it was killed
    assert len(measured) >= len(lines) - 2
    for line in measured:
        verl = line["verl"]
        assert verl["training/rollout_probs_diff_max"] < 1e-4
        assert verl["training/rollout_actor_probs_pearson_corr"] > 0.999
        assert line["train"]["turns"] > 2
        assert line["train"]["valid_share"] == 1.0
        # verl's mean over its batch is ours over the episodes' lines
        assert verl["critic/score/mean"] == pytest.approx(line["train"]["reward"], abs=1e-5)
    assert max(line["verl"]["actor/grad_norm"] for line in measured) > 0


def test_several_environments_killed_interrupted_and_resumed(
    policy: Path, letters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three environments with weights, two workers, a reference model for KL.

    Ctrl-C is pressed while it starts, a worker is killed after a checkpoint, the launch is killed after another one.
    Each time nothing keeps running, and ``--resume`` goes on without losing or repeating a step.
    """
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "run"
    folder = RunFolder(run)
    words = [str(letters), "--env", f"{RETAIL}=0.5", "--env", f"{WEBSHOP}=0.5", "--policy", str(policy), *FEW_WORDS]
    words += ["--steps", "4", "--groups", "4", "--save-every", "1", "--val-every", "2", "--keep", "1"]
    words += ["--set", "actor_rollout_ref.rollout.agent.num_workers=2"]
    words += ["--logger", "tensorboard", "--logger", "wandb", "--set", "actor_rollout_ref.actor.use_kl_loss=true"]
    with training(run, *words) as process:
        log = run / "train.log"
        until(lambda: log.exists() and b"TaskRunner" in log.read_bytes(), process, run)
        assert len(marked(run)) > 3  # the trainer and Ray's own processes
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130, told(run)
    assert "continue with: simia train grpo" in told(run)
    assert not marked(run)

    with training(run, *words, "--resume") as process:
        until(lambda: saved(folder), process, run)
        os.kill(players(run)[0], signal.SIGKILL)
        assert process.wait(PATIENCE) == 1, told(run)  # verl replaces no worker
    assert "the training ended early" in told(run)
    assert not marked(run)

    with training(run, *words, "--resume") as process:
        first = saved(folder)
        until(lambda: saved(folder) > first, process, run)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: not marked(run), None, run)  # the processes of the training end by themselves
    torn = folder.checkpoints / "global_step_3"
    torn.mkdir(exist_ok=True)
    (torn / "data.pt").write_bytes(b"half")

    found = trained(run, *words, "--resume")
    assert found["trained"]
    assert found["steps"] == 4
    lines = read_metrics(folder.metrics)
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4]
    assert [line["step"] for line in lines if "val" in line] == [0, 2, 4]
    check_numbers([line for line in lines if "train" in line])
    assert "actor/kl_loss" in lines[-1]["verl"]
    played = [line for line in read_episodes(run) if line.purpose == "train"]
    assert {step: sum(line.step == step for line in played) for step in range(1, 5)} == {1: 16, 2: 16, 3: 16, 4: 16}
    by_env = {env: sum(line.env == env for line in played) for env in {line.env for line in played}}
    assert by_env == {"simia/custom-v0": 32, RETAIL: 16, WEBSHOP: 16}
    files = {path.name: path.read_text(encoding="utf-8").splitlines() for path in (run / EPISODES).glob("*.jsonl")}
    assert sum(any(json.loads(line)["step"] == 4 for line in written) for written in files.values()) == 2  # the workers
    assert [checkpoints.step_of(path) for path in checkpoints.all_checkpoints(folder.checkpoints)] == [4]
    assert folder.curve.read_bytes().startswith(b"\x89PNG")
    assert list((run / "tensorboard").rglob("events.*"))
    assert any(b"actor/kl_loss" in path.read_bytes() for path in (run / "wandb").rglob("*.wandb"))
    assert not marked(run)
    _loads_and_differs(folder.policy, policy)
    card = json.loads((folder.policy / "simia.json").read_text())
    assert (card["prompt"], card["turn_tokens"]) == ("compact", 4)

    assert trained(run, *words, "--resume")["steps"] == 4  # what is finished is not done again


def _loads_and_differs(trained_policy: Path, start: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(trained_policy)
    after = AutoModelForCausalLM.from_pretrained(trained_policy).state_dict()
    before = AutoModelForCausalLM.from_pretrained(start).state_dict()
    assert tokenizer.chat_template
    assert after.keys() == before.keys()
    assert all(torch.isfinite(value).all() for value in after.values())
    assert any(not torch.equal(after[name], before[name]) for name in after)


def saved(folder: RunFolder) -> int:
    """The step of the latest complete checkpoint, 0 if there is none."""
    latest = checkpoints.latest_complete(folder.checkpoints)
    return 0 if latest is None else checkpoints.step_of(latest)


def players(run: Path) -> list[int]:
    """The processes of a training in which episodes are played."""
    found = [pid for pid in marked(run) if b"AgentLoopWorker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(found) == 2, [Path(f"/proc/{pid}/cmdline").read_bytes()[:60] for pid in marked(run)]
    return found


def test_vllm_on_processors(policy: Path, letters: Path, tmp_path: Path) -> None:
    """The same with vLLM: its weights are those of the trainer at every step."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vllm is not installed: simia train setup-vllm")
    run = tmp_path / "run"
    words = (str(letters), "--engine", "vllm", "--policy", str(policy), *FEW_WORDS, "--steps", "3", "--groups", "2")
    assert trained(run, *words, "--val-every", "0", "--save-every", "3")["trained"]
    check_numbers(read_metrics(RunFolder(run).metrics))
    _loads_and_differs(RunFolder(run).policy, policy)
