"""Speed and memory of the synthesis of trajectories.

    python -m benchmarks.synthesis_speed played [--target 10] [--repetitions 3]
    python -m benchmarks.synthesis_speed checks [--drafts 300]
    python -m benchmarks.synthesis_speed memory [--trajectories 100000] [--near 0 0.9]

`played`: trajectories a second of `simia synth trajectories --way played` against the same ones that are played through
AsyncOpenAI with `asyncio.gather` and lists of messages, 256 at once; one mock server with 100 ms latency and the
answers of a perfect simulator (`benchmarks.model_calls`). `checks`: trajectories a CPU second through all checks, on
one core. `memory`: peak of `simia synth postprocess` over drafts of retail, each of which is different and is kept.

Each part replaces its own results in the file of `--out`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.model_calls.plan import Cell
from benchmarks.model_calls.running import run_cell
from benchmarks.model_calls.summary import machine
from benchmarks.model_calls.synthesis import tasks_of
from benchmarks.model_calls.workload import prepare
from benchmarks.synthesis import taught
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.json_encoding import encode
from simia_gym.domain.registration import env_ids
from simia_gym.synth.domains import subject_of_domain
from simia_gym.synth.drafts import DRAFTS, Draft
from simia_gym.synth.postprocess import Postprocess
from simia_gym.trajectories.contamination import Benchmark, add_tasks
from simia_gym.trajectories.written import from_text, to_text
from simia_gym.types import JsonObject

RETAIL = "simia/retail-v0"
_ROOT = Path(__file__).resolve().parents[1]
_AT_ONCE, _SECONDS = 256, 120
_TEXTS, _WORDS, _VOCABULARY = 100, 60, 20_000
_PEAK = """
import sys
from benchmarks.model_calls.measure import cpu_seconds, rss_mb
from simia_gym.cli.app import run
code = run(sys.argv[1:])
print(code, rss_mb(), sum(cpu_seconds()))
"""


def played(target: int, repetitions: int) -> JsonObject:
    """Trajectories a second, ours and the naive ones, in turn."""
    runs: dict[str, list[JsonObject]] = {"synthesis": [], "naive": []}
    with tempfile.TemporaryDirectory() as folder:
        tasks, answers = tasks_of(target), Path(folder) / "episodes.json"
        prepare(answers, tasks=tasks)
        options = {"concurrency": _AT_ONCE, "episodes": len(tasks), "target": target, "seconds": _SECONDS}
        for repetition in range(repetitions):
            for what, done in runs.items():
                result = run_cell(Cell(what, what, options, repetition=repetition), {"episodes": answers}, None)
                count = result["turns"] / 10
                cpu = result["cpu_of_core"] * result["wall_s"]
                figures = {"trajectories": count, "a_second": round(count / result["wall_s"], 2)}
                done.append({**result, **figures, "cpu_ms_each": round(1000 * cpu / count, 2)})
                print(what, json.dumps(done[-1]), flush=True)
    names = ("a_second", "cpu_ms_each")
    middle = {
        what: {name: statistics.median(run[name] for run in done) for name in names} for what, done in runs.items()
    }
    ours, naive = middle["synthesis"], middle["naive"]
    return {
        "at_once": _AT_ONCE,
        "latency_s": 0.1,
        "median": middle,
        "times_as_many_a_second": round(ours["a_second"] / naive["a_second"], 2),
        "times_less_cpu": round(naive["cpu_ms_each"] / ours["cpu_ms_each"], 2),
        "runs": runs,
    }


def checks(drafts: int) -> JsonObject:
    """Trajectories a CPU second through the checks, without and with near duplicates: the best of three runs."""
    found: JsonObject = {}
    for env in env_ids():
        domain = load_suite(EnvConfig(env=env, simulator="world")).domain
        subject, benchmark = subject_of_domain(env, domain), Benchmark()
        add_tasks(benchmark, domain.tasks_of("test"), domain.name)
        items = [Draft(f"s{n}", n, "", "single", text=one.text) for n, one in enumerate(taught(subject, drafts, 0.0))]
        found[env] = {"drafts": drafts}
        for name, near in (("exact", 0.0), ("near", 0.9)):
            speeds = []
            for _ in range(3):
                process, began = Postprocess(subject, {}, benchmark, near=near), time.process_time()
                for item in items:
                    process.check(item)
                speeds.append(round(drafts / (time.process_time() - began)))
            found[env][name] = {"best": max(speeds), "all": speeds}
        print(env, json.dumps(found[env]), flush=True)
    return found


def memory(trajectories: int, near: float) -> JsonObject:
    """Peak memory of the checks of many drafts, which differ in some words of their first message."""
    domain = load_suite(EnvConfig(env=RETAIL, simulator="world")).domain
    texts = [from_text(one.text).messages for one in taught(subject_of_domain(RETAIL, domain), _TEXTS, 0.0)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / DRAFTS
        with path.open("wb") as file:
            for number in range(trajectories):
                first, *rest = texts[number % _TEXTS]
                words = " ".join(f"w{word}" for word in random.Random(number).sample(range(_VOCABULARY), _WORDS))
                text = to_text([{**first, "content": f"{first['content']} {words}"}, *rest])
                draft = Draft(f"single-any-{number}", number, "", "single", text=text, seed="none")
                file.write(encode(draft.to_json()) + b"\n")
        seed = {
            "id": "none",
            "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
        }
        (Path(folder) / "seeds.jsonl").write_bytes(encode(seed) + b"\n")
        words_given = ["synth", "postprocess", RETAIL, "--out", folder, "--near", str(near)]
        began = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-c", _PEAK, *words_given], capture_output=True, text=True, check=True, cwd=_ROOT
        )
        code, peak, cpu = ended.stdout.splitlines()[-1].split()
        report = json.loads((Path(folder) / "report.json").read_text())
        return {
            "trajectories": trajectories,
            "near": near,
            "kept": report["kept_in_all"],
            "dropped": report["dropped"],
            "exit_code": int(code),
            "peak_mb": round(float(peak), 1),
            "drafts_mb": round(path.stat().st_size / 2**20, 1),
            "cpu_s": round(float(cpu), 1),
            "wall_s": round(time.perf_counter() - began, 1),
        }


def main() -> None:
    """Measure a part, print it, and write it into the file."""
    asked = argparse.ArgumentParser()
    asked.add_argument("part", choices=("played", "checks", "memory"))
    asked.add_argument("--target", type=int, default=10)
    asked.add_argument("--repetitions", type=int, default=3)
    asked.add_argument("--drafts", type=int, default=300)
    asked.add_argument("--trajectories", type=int, default=100_000)
    asked.add_argument("--near", type=float, nargs="*", default=[0.0, 0.9])
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    found: Any
    if given.part == "played":
        found = played(given.target, given.repetitions)
    elif given.part == "checks":
        found = checks(given.drafts)
    else:
        found = [memory(given.trajectories, near) for near in given.near]
    print(json.dumps(found), flush=True)
    if given.out is not None:
        held = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
        held[given.part] = {"machine": machine(), "note": "on a shared, busy machine", "results": found}
        given.out.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
