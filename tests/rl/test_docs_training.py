"""The code blocks of the pages about training run, in order and in one folder for each page, at small numbers.

Blocks that need graphics cards or other machines get as far as ``--dry-run``. A language model that a page speaks of
is an oracle here, and Qwen3-0.6B a tiny model with its chat template.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from simia_gym.oracle import serve_in_thread

from ..docs_pages import DRY_RUN, PAGES, RECIPES, Block, blocks, commands, page_id, read_command, read_simia
from .libraries import FOR_VERL

for library in ("torch", "trl", "verl", "ray"):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f'{library} is not installed: pip install "simia-gym[rl]"', allow_module_level=True)

pytestmark = pytest.mark.slow_rl

SMALLER = {
    "--concurrency": "4",
    "--generated": "4",
    "--trajectories": "16",
    "--trials": "1",
    "--val-generated": "2",
    "--val-tasks": "2",
}
"""Other values for what a page gives."""
ADDED = {
    "simia train grpo": "--steps 1 --groups 1 --group-size 2 --max-turns 2 --turn-tokens 4 --val-tasks 2",
    "simia train sft": "--held-out 4 --batch-size 8",
    "simia train sft my_desk": "--held-out 0",  # it has four tasks
    "simia rollout": "--episodes 4 --ray-workers 2",
    "simia evaluate": "--max-turns 2 --role policy.max_tokens=8",
    "simia evaluate simia/retail-v0 --policy llm": "--ray-workers 2",
    "simia evaluate simia/webshop-v0 --policy hf": "--policy-model runs/sft/policy",  # of the last training but one
    f"python -m {RECIPES}": "--rows 2 --steps 1 --groups 1 --group-size 2 --max-completion-length 64",
}
"""What a command gets besides, by how it begins."""
IN_PYTHON = {
    "num_generations=8": "num_generations=2",
    "per_device_train_batch_size=16": "per_device_train_batch_size=2",
    "max_completion_length=2048": "max_completion_length=64, max_steps=1, use_cpu=True",
    "max_completion_length=4096": "max_completion_length=64, max_steps=1, use_cpu=True",
    "dataset(1000)": "dataset(2)",
}
LIBRARIES = (
    *("torch", "transformers", "trl", "datasets", "simia_gym.cli.app", "simia_gym.rl.for_trl.trainer"),
    *("verl.utils.config", "verl.trainer.ppo.utils"),  # with which a dry run validates
)
PATIENCE = 900.0
"""Seconds that a command may take on a crowded machine."""
STAND_INS = {
    "trl.md": """
from transformers import AutoTokenizer
from trl.chat_template_utils import qwen3_chat_template
from simia_gym.rl.small.build import build_policy
folder = build_policy("Qwen/Qwen3-0.6B", ["simia/webshop-v0", "simia/retail-v0"], conversations=20, hidden=64, heads=2)
tokenizer = AutoTokenizer.from_pretrained(folder)
tokenizer.chat_template = qwen3_chat_template
tokenizer.save_pretrained(folder)
""",
}
"""What a page finds in its folder: the policy that it fetches, or one that would take long to make."""


class Runner:
    """Runs the commands of the pages; see `tests/docs_runner.py`."""

    def __init__(self, *libraries: str) -> None:
        known = {
            k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "AZURE_OPENAI_", "SIMIA_", "RAY_"))
        }
        known |= {"COLUMNS": "120", "NO_COLOR": "1"}
        # On a crowded machine all of Ray's processes may be silent for a while.
        known |= {"RAY_health_check_failure_threshold": "100"}
        known |= {**FOR_VERL, "TRL_EXPERIMENTAL_SILENCE": "1"}
        program = Path(__file__).resolve().parent.parent / "docs_runner.py"
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(program), *libraries],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=known,
            text=True,
            start_new_session=True,
        )

    def __call__(self, folder: Path, environment: Mapping[str, str], **order: Any) -> None:
        """Run something.

        Raises:
            AssertionError: It ended with another exit code than 0.
        """
        output = folder / "output.txt"
        given = {"folder": str(folder), "environment": dict(environment), "output": str(output), **order}
        given["environment"]["RAY_TMPDIR"] = os.environ.get("RAY_TMPDIR", "/tmp")
        stdin: IO[str] | None = self.process.stdin
        stdout: IO[str] | None = self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{json.dumps(given)}\n")
        stdin.flush()
        heard, _, _ = select.select([stdout], [], [], PATIENCE)
        code = stdout.readline().strip() if heard else "no end in time"
        assert code == "0", f"{order}\nended with {code or 'the runner'}:\n{output.read_text(encoding='utf-8')[-4000:]}"

    def close(self) -> None:
        """End it, and all that it has begun."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture(scope="module")
def loaded() -> Iterator[Runner]:
    """A runner with the libraries of training."""
    made = Runner(*LIBRARIES)
    yield made
    made.close()


@pytest.fixture
def runner(page: Path, request: pytest.FixtureRequest) -> Iterator[Runner]:
    """What runs the commands of a page; that about Ray without Ray, which reads its variables when it is imported."""
    if page.name != "ray.md":
        yield request.getfixturevalue("loaded")
        return
    made = Runner()
    yield made
    made.close()


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """Where the commands find a model: the address of an oracle."""
    with serve_in_thread() as server:
        yield {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}


def smaller(words: Sequence[str]) -> list[str]:
    """The command at small numbers; the later of two values of an option counts."""
    found = list(words)
    for place, word in enumerate(words[:-1]):
        if word in SMALLER:
            found[place + 1] = SMALLER[word]
    line = " ".join(words)
    for begin, more in ADDED.items():
        if line.startswith(begin):
            found += more.split()
    return found


def dry(words: Sequence[str]) -> list[str] | None:
    """The command with ``--dry-run``, if it has that; what it writes, it writes into the page's folder."""
    if words[0] != "simia" or "dry_run" not in read_simia(words[1:]).params:
        return None
    return [*(word.removeprefix("/") for word in words), *(() if "--dry-run" in words else ("--dry-run",))]


def read_ray(words: Sequence[str]) -> None:
    """Read a command of Ray's as it does, and run nothing."""
    from ray.scripts.scripts import cli

    name, command, rest = cli.resolve_command(cli.make_context("ray", list(words[1:])), list(words[1:]))
    command.make_context(name, rest)


def joining(address: str) -> dict[str, str]:
    """The variables of a process that is to join the cluster of this one."""
    return {"RAY_ADDRESS": address, "RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "disabled")}


def planned(words: Sequence[str], folder: Path) -> bool:
    """Whether it is a further training by GRPO of a page: the first is for real, the others get to their dry run."""
    return list(words[:3]) == ["simia", "train", "grpo"] and any(folder.glob("runs/*/train.log"))


def run_block(block: Block, runner: Runner, folder: Path, environment: dict[str, str], address: str | None) -> None:
    if block.language == "python":
        code = block.code
        for old, new in IN_PYTHON.items():
            code = code.replace(old, new)
        runner(folder, environment, code=code)
        return
    for words in commands(block.code):
        if words[0] == "ray":
            read_ray(words)
        elif words[0] == "export":
            environment |= dict(word.partition("=")[::2] for word in words[1:])
        elif (
            block.note != DRY_RUN
            and "--dry-run" not in words
            and words[0] in ("simia", "python")
            and not planned(words, folder)
        ):
            more = joining(address) if "--ray-address" in words and address else {}
            runner(folder, {**environment, **more}, words=smaller(words))
        elif (without := dry(words)) is not None:
            runner(folder, environment, words=without)
        else:
            read_command(words)


WITH_TRAINING = [page for page in PAGES if any(block.needs_training for block in blocks(page))]


def blocks_to_run(page: Path) -> list[Block]:
    """A page's blocks about training; one that stands on several pages is run on the last of them."""
    later = {block.code for other in PAGES[PAGES.index(page) + 1 :] for block in blocks(other)}
    return [block for block in blocks(page) if block.needs_training and block.code not in later]


@pytest.mark.parametrize("page", WITH_TRAINING, ids=page_id)
def test_code_blocks_run(
    page: Path, tmp_path: Path, runner: Runner, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    if page.name in STAND_INS:
        runner(tmp_path, environment, code=STAND_INS[page.name])
    address = request.getfixturevalue("cluster").address if page.name == "ray.md" else None
    shown, python = dict(environment), ""
    for block in blocks_to_run(page):
        if block.language == "python":
            python += block.code  # in one interpreter, as on the other pages
        else:
            run_block(block, runner, tmp_path, shown, address)
    if python:
        run_block(Block("python", python, "", ""), runner, tmp_path, shown, address)
    for run, names in left_behind(page):
        for name in names:
            assert list((tmp_path / run).glob(name)), f"{run} holds no {name}"


def left_behind(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders of runs of which a page says what they hold, and that."""
    if page.name == "training.md":
        section = page.read_text(encoding="utf-8").partition("## What a run leaves behind")[2].partition("\n## ")[0]
        cells = " ".join(re.findall(r"(?m)^\| (`[^|]*`) \|", section))
        yield "runs/retail-v0-cpu", [name.replace("step_N/", "step_1") for name in re.findall(r"`([^`]+)`", cells)]
    for block in blocks(page):
        first, *lines = block.code.splitlines()
        if re.fullmatch(r"runs/\w+/", first):
            yield first, [line.split()[0] for line in lines]
