"""Trains small policies from random weights on CPU and evaluates them.

    python -m benchmarks.learning [--domain webshop] [--seed 0 --seed 1] [--models] [--quick] [--runs DIR] [--out FILE]
    python -m benchmarks.learning --table

With `--quick` every stage runs with tiny numbers, in separate folders.

Each run makes a policy (`simia new-policy`), lets it imitate the expert on generated training tasks (`simia train
sft`), trains it by GRPO with verl (`simia train grpo`), and in the end evaluates it (`simia evaluate`) on test tasks
that no training saw. During both trainings it is looked at on the split dev only: whoever changes a recipe chooses by
that, and not by test. Finished stages are skipped, so the same command continues after an
interruption. It refuses to continue if a stage was finished with other settings.

With `--models` the imitation policy is trained a second time, with observations and rewards from a language model's
endpoint (`simia serve-oracle`: strategy ledger, a judge for every criterion). Its evaluation still uses the domain's
own world.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.learning.picture import draw
from benchmarks.learning.plan import RECIPES, Recipe, quick, stages
from benchmarks.learning.running import run_stages
from benchmarks.learning.summary import machine, markdown, rose_and_fell, summarise_run
from simia_gym.oracle import OracleOptions, serve_in_thread

_OUT = Path(__file__).parents[1] / "results" / "learning.json"
_QUICK = Path("runs/learning-quick")


def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--domain", action="append", choices=sorted(RECIPES), help="may be repeated; default: all")
    parser.add_argument("--seed", action="append", type=int, help="may be repeated; default: 0 and 1")
    parser.add_argument("--quick", action="store_true", help="a tiny run of every stage, to try it out")
    parser.add_argument("--models", action="store_true", help="also train through a language model's endpoint")
    parser.add_argument("--runs", type=Path, help="folder for policies and records; default: runs/learning")
    parser.add_argument("--out", type=Path, help="results file, with the picture next to it; default: the published")
    parser.add_argument("--table", action="store_true", help="run nothing; print the results file as a table")
    options = parser.parse_args(arguments)
    options.runs = options.runs or (_QUICK if options.quick else Path("runs/learning"))
    options.out = options.out or (_QUICK / "learning.json" if options.quick else _OUT)
    if options.table:
        results = json.loads(options.out.read_text(encoding="utf-8"))
        print(markdown(results), rose_and_fell(results), sep="\n\n")
        return
    old: list[dict[str, Any]] = []
    if options.out.exists():
        old = json.loads(options.out.read_text(encoding="utf-8"))["runs"]
    runs = {_key(run): run for run in old}
    for domain in options.domain or sorted(RECIPES):
        recipe = quick(RECIPES[domain]) if options.quick else RECIPES[domain]
        for seed in options.seed or [0, 1]:
            folder = (options.runs / f"{domain}-{seed}").resolve()
            run_stages(stages(recipe, seed, folder), folder)
            done = {"world": folder}
            if options.models:
                done["models"] = _by_models(recipe, seed, folder)
            for world, place in done.items():
                run = {"domain": domain, "seed": seed, "world": world, "quick": options.quick}
                runs[_key(run)] = {**run, "result": summarise_run(place, before=folder)}
            results = {"machine": machine(), "runs": [runs[key] for key in sorted(runs)]}
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            draw(results, options.out.with_suffix(".png"))
            print(markdown(results), rose_and_fell(results), sep="\n\n")


def _key(run: dict[str, Any]) -> tuple[str, int, bool, bool]:
    """Sort key of a run: runs on the domain's world before those through models, quick runs last."""
    return run["domain"], run["seed"], run["world"] == "models", run.get("quick", False)


def _by_models(recipe: Recipe, seed: int, folder: Path) -> Path:
    """Train the imitation policy through a model endpoint; return the run's folder."""
    other = folder.with_name(f"{folder.name}-models")
    with serve_in_thread(OracleOptions(seed=seed)) as oracle:
        world = f"--simulator llm --strategy ledger --judge llm-all --model oracle --base-url {oracle.base_url}"
        run_stages(stages(recipe, seed, other, world=world, taught=folder / "sft" / "policy"), other)
    return other


if __name__ == "__main__":
    main()
