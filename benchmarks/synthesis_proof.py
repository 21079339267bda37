"""From 20 traces to 500 trajectories an environment, by the commands of a user, with the oracle in place of a model.

Both ways of `simia synth trajectories`. What was played is replayed by `simia replay`, which compares every event and
the reward; what a teacher wrote is replayed call by call in the world of the task that it has played, although `synth`
does not know that task.

    python -m benchmarks.synthesis_proof [--env ID ...] [--seeds 20] [--kept 500] [--folder DIR] [--out FILE]

The folder may be one of an earlier run, which then goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.model_calls.summary import machine
from benchmarks.synthesis import holds, share
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.app import run
from simia_gym.common.files import read_json, read_jsonl
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import env_ids
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.oracle.reading import read_request
from simia_gym.oracle.teacher import task_of
from simia_gym.record.records import read_records
from simia_gym.synth.domains import subject_of_domain
from simia_gym.synth.drafts import DRAFTS, Attempt, Draft
from simia_gym.synth.postprocess import KEPT
from simia_gym.synth.seeds import SEEDS, Seed
from simia_gym.synth.single import Teacher
from simia_gym.trajectories.written import from_text
from simia_gym.types import JsonObject


def simia(*words: object) -> int:
    """Run a command."""
    return run([str(word) for word in words])


def proved(env: str, folder: Path, seeds: int, kept: int) -> list[JsonObject]:
    """What both ways make of some traces of an environment."""
    traces = folder / "traces.jsonl"
    if not traces.exists():
        folder.mkdir(parents=True, exist_ok=True)
        simia("rollout", env, "--episodes", seeds, "--out", traces)
    domain = load_suite(EnvConfig(env=env, simulator="world")).domain
    options = OracleOptions()
    simia("synth", "filter", env, traces, "--out", folder / "single")
    kinds = {row["kind"] for _, row in read_jsonl(folder / "single" / SEEDS)}
    target = math.ceil(kept / len(kinds))
    found = []
    for way in ("single", "played"):
        out, began, used = folder / way, time.perf_counter(), time.process_time()
        words: list[object] = ["synth", "trajectories", env, traces, "--out", out, "--way", way, "--target", target]
        if way == "single":
            with serve_in_thread(options) as server:
                code = simia(*words, "--model", "oracle", "--base-url", server.base_url)
        else:
            code = simia(*words)
        spent = {"wall_s": round(time.perf_counter() - began, 1), "cpu_s": round(time.process_time() - used, 1)}
        report = read_json(out / "report.json")
        assert isinstance(report, dict)
        names = ("drafts", "faults", "dropped", "kept_in_all", "missing", "turns", "different_openings")
        facts = {name: report[name] for name in names}
        rows = [row for _, row in read_jsonl(out / KEPT)]
        proof = _written(env, domain, out, rows, options) if way == "single" else _played(out, rows)
        about = {"env": env, "way": way, "seeds": report["seeds"], "kinds": len(kinds), "target": target}
        found.append({**about, "exit_code": code, **facts, **proof, **spent})
        print(json.dumps(found[-1]), flush=True)
    return found


def _played(out: Path, rows: Sequence[JsonObject]) -> JsonObject:
    """How many of the kept trajectories replay with the reward that their lines say."""
    rewards: dict[str, float | None] = {}
    replayed = True
    for path in sorted(out.glob("episodes-*.jsonl")):
        if not path.name.endswith(".times.jsonl"):
            replayed &= simia("replay", path) == 0
            rewards |= {record.task: record.reward for record in read_records(path)}
    right = sum(replayed and rewards[row["task"]] == row["reward"] for row in rows)
    return {"replayed_with_their_outcome": share(right, len(rows))}


def _written(env: str, domain: Domain, out: Path, rows: Sequence[JsonObject], options: OracleOptions) -> JsonObject:
    """How many of the kept trajectories the world of their task repeats."""
    seeds = [Seed.from_json(row) for _, row in read_jsonl(out / SEEDS)]
    teacher = Teacher(None, subject_of_domain(env, domain).teaching, seeds)
    drafts = {row["id"]: Draft.from_json(row) for _, row in read_jsonl(out / DRAFTS)}
    right = 0
    for row in rows:
        draft = drafts[row["id"]]
        attempt = Attempt(draft.id, draft.order, draft.kind, int(draft.id.rpartition("-")[2]))
        request = read_request(b'{"messages":%b}' % teacher.prompt(attempt)[0].messages_json())
        task, _ = task_of(request, domain, options)
        right += holds(domain, task, from_text(draft.text).messages)
    return {"repeated_by_the_world": share(right, len(rows))}


def main() -> None:
    """Prove, print, and write a file if one is named; results of other environments in it stay."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--env", nargs="*", default=list(env_ids()))
    asked.add_argument("--seeds", type=int, default=20)
    asked.add_argument("--kept", type=int, default=500)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    results: list[Any] = []
    if given.out is not None and given.out.exists():
        results = json.loads(given.out.read_text(encoding="utf-8"))["results"]
    with tempfile.TemporaryDirectory() as temporary:
        for env in given.env:
            folder = (given.folder or Path(temporary)) / env.partition("/")[2]
            found = proved(env, folder, given.seeds, given.kept)
            results = [row for row in results if row["env"] != env] + found
            if given.out is not None:
                about = {"machine": machine(), "note": "one run each, on a shared machine", "results": results}
                given.out.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
