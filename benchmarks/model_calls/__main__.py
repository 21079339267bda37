"""Runs the benchmark of model calls and writes its results.

    python -m benchmarks.model_calls [--quick] [--resume] [--only product,naive] [--peers DIR] [--out FILE]
    python -m benchmarks.model_calls --table

A mock server on one core answers every request after 100 ms; the client runs on the other core. An episode has ten
turns, each with one call of the policy's model and one of the simulator's. Other frameworks run if DIR has a virtual
environment for each: `gem` (gem-llm, openai), `skyrl` (skyrl-gym, openai), `verifiers` (the package of the public
repository, and its requirements) and `tau2` (the package of the public repository; its data in `tau2/data`).

Each run waits until its core is undisturbed; a disturbed run is repeated once (not those of other frameworks).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.model_calls.growth import TURNS as LONG
from benchmarks.model_calls.plan import LATENCY, PEERS, SIGMA, Cell, cells
from benchmarks.model_calls.quiet import Quiet
from benchmarks.model_calls.running import SkippedError, run_cell
from benchmarks.model_calls.summary import goals, machine, markdown, show, summarise
from benchmarks.model_calls.workload import prepare

_ATTEMPTS = 2
_OUT = Path(__file__).parents[1] / "results" / "model_calls.json"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_calls", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short run of each, to try it out")
    parser.add_argument("--resume", action="store_true", help="run only what is missing in the results file")
    parser.add_argument("--only", help="what to run, separated by commas, such as product,naive")
    parser.add_argument("--peers", type=Path, help="folder with a virtual environment for each peer")
    parser.add_argument("--out", type=Path, default=_OUT, help="the results file")
    parser.add_argument("--table", action="store_true", help="run nothing; print the results file as a table")
    options = parser.parse_args(arguments)
    if options.table:
        print(markdown(_begun(options.out)["summary"]))
        return
    results = _begun(options.out) if options.resume else _new(quick=options.quick)
    done = {run["key"] for run in results["runs"] if "result" in run}
    wanted = [cell for cell in cells(quick=results["quick"]) if cell.key not in done and _asked(cell, options.only)]
    with tempfile.TemporaryDirectory() as folder:
        answers = {"episodes": Path(folder) / "episodes.json", "long": Path(folder) / "long.json"}
        prepare(answers["episodes"])
        prepare(answers["long"], turns=LONG)
        quiet = None if results["quick"] else Quiet()
        if quiet is not None:
            quiet.learn()
        for number, cell in enumerate(wanted, 1):
            began = time.monotonic()
            run: dict[str, Any] = {"key": cell.key, "what": cell.what, "repetition": cell.repetition}
            try:
                run["result"] = _measured(cell, answers, options.peers, quiet)
            except SkippedError as error:
                run["skipped"] = str(error)
            except RuntimeError as error:  # continue with the others; --resume repeats this one
                run["failed"] = str(error)
            results["runs"] = [other for other in results["runs"] if other["key"] != cell.key] + [run]
            results["summary"] = summarise(results["runs"])
            results["goals"] = goals(results["summary"])
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            shown = (
                run.get("skipped")
                or run.get("failed")
                or {name: run["result"].get(name) for name in ("of_ideal", "cpu_ms_per_turn", "core")}
            )
            print(f"[{number}/{len(wanted)}] {cell.key}: {shown} ({time.monotonic() - began:.0f} s)", flush=True)
    show(results["summary"], results["goals"])
    failed = [run["failed"] for run in results["runs"] if "failed" in run]
    if failed:
        raise SystemExit(f"{len(failed)} runs failed, the first: {failed[0]}")


def _measured(cell: Cell, answers: dict[str, Path], peers: Path | None, quiet: Quiet | None) -> dict[str, Any]:
    if quiet is None:
        return run_cell(cell, answers, peers)
    return quiet.measured(lambda: run_cell(cell, answers, peers), 1 if cell.what in PEERS else _ATTEMPTS)


def _new(*, quick: bool) -> dict[str, Any]:
    """A results file without runs."""
    settings = {"latency_s": LATENCY, "lognormal_sigma": SIGMA, "turns": 10, "calls_per_turn": 2}
    return {"quick": quick, "settings": settings, "machine": machine(), "runs": []}


def _begun(path: Path) -> dict[str, Any]:
    """The results of an earlier start."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _asked(cell: Cell, only: str | None) -> bool:
    return only is None or cell.what in only.split(",")


if __name__ == "__main__":
    main()
