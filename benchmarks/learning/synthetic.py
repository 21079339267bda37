"""Trains a small policy on synthetic trajectories and on as many of the expert's, and evaluates both on `dev`.

    python -m benchmarks.learning.synthetic [--seed 0 --seed 1] [--quick] [--runs DIR] [--out FILE]
    python -m benchmarks.learning.synthetic --table

Both begin at the policy of the learning benchmark's openings, in its folder, and are trained with its options. The
synthetic ones come from 20 recorded episodes, by `simia synth` with the oracle as teacher; as many of each kind of task
are taken. Finished stages are skipped.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.learning.plan import DECODING, RECIPES, Recipe, Stage, quick, stages
from benchmarks.learning.running import read_times, run_stages
from benchmarks.learning.summary import machine
from simia_gym.evaluation.report import make_report
from simia_gym.evaluation.trials import read_series
from simia_gym.oracle import OracleOptions, serve_in_thread

_OUT = Path(__file__).parents[1] / "results" / "synthetic_sft.json"
_QUICK = Path("runs/learning-quick")
_SEEDS, _KINDS = 20, 6
_KEPT, _TAKEN = "trajectories.jsonl", "taken.jsonl"
"""What the synthesis kept, a tenth more than its target, and as many of them as the expert's."""
_TAUGHT = {"expert": "sft", "synthetic": "synthetic"}
"""Folders of the policies by what they were trained on."""


def synthetic_stages(recipe: Recipe, seed: int, folder: Path, base_url: str) -> list[Stage]:
    """The stages up to both policies, and their evaluations.

    Args:
        recipe: Of the learning benchmark.
        seed: Seed of weights, order, trajectories and sampling.
        folder: Folder of the run.
        base_url: Address of the teacher.
    """
    common = {stage.name: stage for stage in stages(recipe, seed, folder)}
    traces, made, out = folder / "traces.jsonl", folder / "made", folder / _TAUGHT["synthetic"]
    found = [common[name] for name in ("new-policy", "openings", "sft")]
    words = f"rollout {recipe.env} --episodes {_SEEDS} --seed {seed} --out {traces}"
    found.append(Stage("traces", tuple(words.split()), traces))
    words = f"synth trajectories {recipe.env} {traces} --out {made} --target {recipe.trajectories // _KINDS} "
    words += f"--seed {seed} --prompt {recipe.prompt} --model oracle --base-url {base_url}"
    found.append(Stage("synth", tuple(words.split()), made / _KEPT))
    imitating = list(common["sft"].words)
    imitating[imitating.index("--out") + 1] = str(out)
    at = imitating.index("--trajectories")
    imitating[at : at + 2] = ["--data", str(made / _TAKEN)]
    found.append(Stage("sft synthetic", tuple(imitating), out / "policy" / "simia.json", out / "settings.json"))
    for name, place in _TAUGHT.items():
        for label, temperature in zip(DECODING, (0, recipe.temperature), strict=True):
            record, report = (folder / f"dev-{name}-{label}{end}" for end in (".jsonl", ".json"))
            words = f"evaluate {recipe.env} --policy hf --policy-model {folder / place / 'policy'} --split dev "
            words += f"--prompt {recipe.prompt} --generated {recipe.test_tasks} --simulator world --concurrency 64 "
            words += f"--role policy.temperature={temperature} --role policy.max_tokens={recipe.turn_tokens} "
            words += f"--seed {seed} --out {record} --report {report}"
            found.append(Stage(f"evaluate {name} {label}", tuple(words.split()), report, record))
    return found


def take(made: Path, number: int) -> None:
    """Write as many of the kept trajectories of each kind to a file of their own, in their order."""
    taken = Counter[str]()
    with (made / _KEPT).open(encoding="utf-8") as kept, (made / _TAKEN).open("w", encoding="utf-8") as out:
        for line in kept:
            kind = str(json.loads(line)["kind"])
            taken[kind] += 1
            if taken[kind] <= number // _KINDS:
                out.write(line)


def summarise(folder: Path) -> dict[str, Any]:
    """Success and mean reward of both policies, and the difference over the same tasks, by decoding."""
    out: dict[str, Any] = {"seconds": read_times(folder)}
    for label in DECODING:
        series, _ = read_series([folder / f"dev-{name}-{label}.jsonl" for name in _TAUGHT])
        report = make_report(series)
        out[label] = {
            name: {"tasks": one["tasks"], "success": one["pass_at_1"], "reward": one["mean_reward"]}
            for name, one in zip(_TAUGHT, report["series"], strict=True)
        }
        out[label]["difference"] = report["pairs"][0]["pass_at_1"]
    return out


def markdown(results: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| seed | decoding | `dev` tasks | success by the expert's | by synthetic ones | difference | mean rewards |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in results["runs"]:
        for label in DECODING:
            one = run["result"][label]
            cells = [_percent(one[name]["success"]) for name in _TAUGHT] + [_percent(one["difference"])]
            rewards = ", ".join(f"{one[name]['reward']['value']:.3f}" for name in _TAUGHT)
            row = (run["seed"], label, one["expert"]["tasks"], *cells, rewards)
            lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def _percent(score: dict[str, Any]) -> str:
    low, high = score["interval"] or (score["value"],) * 2
    return f"{100 * score['value']:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.learning.synthetic"
    )
    parser.add_argument("--seed", action="append", type=int, help="may be repeated; default: 0 and 1")
    parser.add_argument("--quick", action="store_true", help="a tiny run of every stage, to try it out")
    parser.add_argument("--runs", type=Path, help="folder for policies and records; default: runs/learning")
    parser.add_argument("--out", type=Path, help="results file; default: the published one")
    parser.add_argument("--table", action="store_true", help="run nothing; print the results file as a table")
    given = parser.parse_args(arguments)
    runs = given.runs or (_QUICK if given.quick else Path("runs/learning"))
    path: Path = given.out or (_QUICK / "synthetic_sft.json" if given.quick else _OUT)
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"runs": []}
    for seed in [] if given.table else (given.seed or [0, 1]):
        recipe = quick(RECIPES["webshop"]) if given.quick else RECIPES["webshop"]
        folder = (runs / f"webshop-{seed}").resolve()
        with serve_in_thread(OracleOptions(seed=seed)) as teacher:
            planned = synthetic_stages(recipe, seed, folder, teacher.base_url)
            made = next(place for place, stage in enumerate(planned, 1) if stage.name == "synth")
            run_stages(planned[:made], folder)
            take(folder / "made", recipe.trajectories)
            run_stages(planned[made:], folder)
        run = {"seed": seed, "quick": given.quick, "result": summarise(folder)}
        others = [one for one in results["runs"] if (one["seed"], one["quick"]) != (seed, given.quick)]
        results = {"machine": machine(), "runs": sorted([*others, run], key=lambda one: (one["quick"], one["seed"]))}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
