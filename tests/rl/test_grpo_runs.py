"""Real trainings with verl, Ray and a tiny policy: what a kill leaves, what Ctrl-C ends, and what faults do."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
import yaml

from ..work import wait_until
from .grpo_options import read_episodes
from .libraries import need

need("torch", "verl", "ray", "transfer_queue", "hydra")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.app import run as main
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.loading import load_domain
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.rl.chat.tokens import Conversation
from simia_gym.rl.grpo.run import checkpoints
from simia_gym.rl.grpo.run.episodes import EPISODES, EpisodeLine
from simia_gym.rl.grpo.run.metrics import read_metrics
from simia_gym.rl.grpo.run.run_folder import RunFolder
from simia_gym.rl.small.build import build_policy
from simia_gym.rl.verl_run.process import end_marked, marked
from simia_gym.types import Message

pytestmark = pytest.mark.slow_rl

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
    items = [dict(item) for item in load_domain(folder).rubric]
    (folder / "rubric.yaml").write_text(yaml.safe_dump(items) + LETTER, encoding="utf-8")
    domain = folder / "domain.yaml"
    text = domain.read_text(encoding="utf-8")
    domain.write_text(f"{text}\nrubric: rubric.yaml\nreward_options: {{value: weighted}}\n", encoding="utf-8")
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
    return out[-8000:] + (log.read_text(encoding="utf-8", errors="replace")[-4000:] if log.exists() else "")


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
    """Two environments with weights, two workers, a reference model for KL.

    Ctrl-C is pressed while it starts, a worker is killed after a checkpoint, the launch is killed after another one.
    Each time nothing keeps running, and ``--resume`` goes on without losing or repeating a step, also with loggers that
    the run was not begun with.
    """
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "run"
    folder = RunFolder(run)
    words = [str(letters), "--env", f"{WEBSHOP}=0.5", "--policy", str(policy), *FEW_WORDS]
    words += ["--steps", "3", "--groups", "3", "--save-every", "1", "--val-every", "2", "--keep", "1"]
    words += ["--set", "actor_rollout_ref.rollout.agent.num_workers=2"]
    words += ["--set", "actor_rollout_ref.actor.use_kl_loss=true"]
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

    words += ["--logger", "tensorboard", "--logger", "wandb"]
    found = trained(run, *words, "--resume")
    assert found["trained"]
    assert found["steps"] == 3
    lines = read_metrics(folder.metrics)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    assert [line["step"] for line in lines if "val" in line] == [0, 2, 3]
    check_numbers([line for line in lines if "train" in line])
    assert "actor/kl_loss" in lines[-1]["verl"]
    played = [line for line in read_episodes(run) if line.purpose == "train"]
    assert {step: sum(line.step == step for line in played) for step in range(1, 4)} == {1: 12, 2: 12, 3: 12}
    by_env = {env: sum(line.env == env for line in played) for env in {line.env for line in played}}
    assert by_env == {"simia/custom-v0": 24, WEBSHOP: 12}
    files = {path.name: path.read_text(encoding="utf-8").splitlines() for path in (run / EPISODES).glob("*.jsonl")}
    assert sum(any(json.loads(line)["step"] == 3 for line in written) for written in files.values()) == 2  # the workers
    assert [checkpoints.step_of(path) for path in checkpoints.all_checkpoints(folder.checkpoints)] == [3]
    assert folder.curve.read_bytes().startswith(b"\x89PNG")
    assert list((run / "tensorboard").rglob("events.*"))
    assert any(b"actor/kl_loss" in path.read_bytes() for path in (run / "wandb").rglob("*.wandb"))
    assert not marked(run)
    _loads_and_differs(folder.policy, policy)
    card = json.loads((folder.policy / "simia.json").read_text())
    assert (card["prompt"], card["turn_tokens"]) == ("compact", 4)

    starts = list(folder.attempts.iterdir())
    assert main(["train", "grpo", *words, "--out", str(run), "--resume"]) == 0
    assert list(folder.attempts.iterdir()) == starts, "what is finished is not done again"


def _loads_and_differs(trained_policy: Path, start: Path) -> None:
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


STEPS, GROUPS, GROUP_SIZE, TURNS = 3, 5, 2, 6
SAID = ("sure", "no")
"""What the policy says to the user: the letter that decides the reward is in one of them."""
CALL = '<tool_call>{"name": "get_product_details", "arguments": {"product_id": "%d"}}</tool_call>'
"""What it asks the simulator, with one of ten digits: the same call in the same state is answered only once a group."""
IMITATED = 320


def taught(policy: Path, domain: Path) -> Path:
    """Let a policy with random weights imitate the actions above: two calls of three, and the two words alike often."""
    tokenizer = AutoTokenizer.from_pretrained(policy)
    model = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32).train()
    suite = load_suite(EnvConfig("simia/custom-v0", domain=str(domain), prompt="compact", split="train"))
    openings = []
    for task in suite.tasks[:6]:
        episode = suite.episode()
        openings.append(run_sync(episode.reset(task, seed=0), inline=episode.inline).messages)
    chance, optimizer = random.Random(0), torch.optim.AdamW(model.parameters(), lr=3e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, IMITATED)
    for _ in range(IMITATED):
        ids, mask = _talk(tokenizer, chance.choice(openings), chance)
        tokens = torch.tensor([ids])
        labels = tokens.masked_fill(torch.tensor([mask]) == 0, -100)
        optimizer.zero_grad()
        model(input_ids=tokens, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        decay.step()
    model.save_pretrained(policy)
    return policy


def _talk(tokenizer: Any, opening: Sequence[Message], chance: random.Random) -> tuple[list[int], list[int]]:
    """A conversation of such actions, and which of its tokens are the policy's."""
    talk = Conversation(tokenizer, list(opening))
    for turn in range(TURNS):
        called = chance.random() < 2 / 3
        action = CALL % chance.randrange(10) if called else chance.choice(SAID)
        talk.said([*tokenizer.encode(action, add_special_tokens=False), tokenizer.eos_token_id], None)
        if turn < TURNS - 1:
            heard: Message = {"role": "tool" if called else "user", "content": "{}" if called else "Please help me."}
            talk.heard([heard])
    return talk.ids, talk.mask


def test_every_tenth_answer_fails_and_training_goes_on(letters: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    policy = taught(build_policy(tmp_path / "policy", [RETAIL], conversations=40, hidden=64, heads=2), letters)
    words = [str(letters), "--policy", str(policy), "--steps", STEPS, "--groups", GROUPS, "--group-size", GROUP_SIZE]
    words += ["--max-turns", TURNS, "--turn-tokens", 64, "--lr", "1e-3", "--val-every", 0, "--save-every", STEPS]
    words += ["--simulator", "llm", "--strategy", "ledger", "--model", "oracle", "--role", "simulator.retries=0"]
    # Two trainers with a rollout engine each: both get the new weights after every step.
    words += ["--set", "trainer.n_gpus_per_node=2", "--set", "ray_kwargs.ray_init.num_gpus=2"]
    with serve_in_thread(OracleOptions(domains=(letters,), fault_rate=0.1, hang=1.0, seed=1)) as oracle:
        last = trained(run, *map(str, words), "--base-url", oracle.base_url)
        failed, asked = oracle.counts["faults"], oracle.counts["requests"]
    assert not marked(run)
    played = list(read_episodes(run))
    masked = [line for line in played if not line.valid]
    lines = read_metrics(RunFolder(run).metrics)
    assert masked, (failed, asked)
    assert failed
    assert asked["ledger"] > len(masked)

    # A fault is no reward, and whoever met none has one.
    assert len(played) == STEPS * GROUPS * GROUP_SIZE
    for line in played:
        assert line.valid == (line.fault is None)
        assert (line.reward is None) == (line.fault is not None)
    assert {line.fault["role"] for line in masked if line.fault} == {"simulator"}

    # A group is so many episodes of one task, also as verl sees it.
    groups = by_group(played)
    assert [len(group) for group in groups] == [GROUP_SIZE] * (STEPS * GROUPS)
    assert all(len({(line.task, line.group) for line in group}) == 1 for group in groups)

    # Every step was made, and says what it had to leave out.
    assert [measured["step"] for measured in lines] == list(range(1, STEPS + 1))
    for measured in lines:
        train, of_step = measured["train"], [item for item in played if item.step == measured["step"]]
        left_out = [item for item in of_step if not item.valid]
        assert (train["episodes"], train["masked"]) == (GROUPS * GROUP_SIZE, len(left_out))
        assert train["valid_share"] == pytest.approx(1 - len(left_out) / len(of_step))
        assert train["faults"] == kinds(left_out)
        rewards = [item.reward for item in of_step if item.reward is not None]
        assert train["reward"] == pytest.approx(fmean(rewards))
        check_advantages(measured["verl"], of_step)
        assert measured["verl"]["training/rollout_probs_diff_max"] < 1e-4
    assert max(measured["verl"]["actor/grad_norm"] for measured in lines) > 0
    assert (last["steps"], last["episodes"], last["masked"]) == (STEPS, len(played), len(masked))
    assert last["faults"] == kinds(masked)

    # Groups of which one episode alone was left are among those whose advantages were checked: they taught nothing.
    assert any(sum(item.valid for item in group) == 1 for group in groups)


def kinds(episodes: Sequence[EpisodeLine]) -> dict[str, int]:
    return dict(Counter(f"{line.fault['role']}:{line.fault['kind']}" for line in episodes if line.fault))


def by_group(episodes: Sequence[EpisodeLine]) -> list[list[EpisodeLine]]:
    groups: dict[tuple[int, str], list[EpisodeLine]] = defaultdict(list)
    for line in episodes:
        groups[line.step, line.uid].append(line)
    return list(groups.values())


def check_advantages(verl: dict[str, float], episodes: Sequence[EpisodeLine]) -> None:
    """What verl trained on is what the episodes' lines come to: without faults, and without who is left alone."""
    weighted: list[tuple[float, int]] = []
    for group in by_group(episodes):
        valid = [(line.reward, line.tokens) for line in group if line.reward is not None]
        if len(valid) > 1:
            rewards = [reward for reward, _ in valid]
            spread = stdev(rewards) + 1e-6
            weighted += [((reward - fmean(rewards)) / spread, tokens) for reward, tokens in valid]
    shares = [verl[f"training/{name}_share"] for name in ("valid", "masked", "teaching")]
    counted = sum(line.valid for line in episodes)
    expected = [count / len(episodes) for count in (counted, len(episodes) - counted, len(weighted))]
    assert shares == pytest.approx(expected)
    mean = math.fsum(value * tokens for value, tokens in weighted) / sum(tokens for _, tokens in weighted)
    assert verl["critic/advantages/max"] == pytest.approx(max(value for value, _ in weighted), abs=1e-4)
    assert verl["critic/advantages/min"] == pytest.approx(min(value for value, _ in weighted), abs=1e-4)
    assert verl["critic/advantages/mean"] == pytest.approx(mean, abs=1e-4)
    assert math.isfinite(verl["actor/grad_norm"])
    assert (verl["actor/grad_norm"] > 0) == any(value for value, _ in weighted)
