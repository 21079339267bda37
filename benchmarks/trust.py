"""How far what is measured in a simulated world holds: every row of ``docs/trust.md`` that is measured without a model.

The worlds against themselves, a flawless model that words things differently, models that make known mistakes, and
recorded rollouts of the real benchmark, if ``--data`` names a folder with ``tau2/NAME`` and
``rollouts/NAME_tau2.jsonl``.

    python -m benchmarks.trust [--data DIR] [--env ENV ...] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import simia_gym
from simia_gym.cli.app import run as simia
from simia_gym.domain.registration import domain_folders
from simia_gym.oracle import OracleOptions, serve_in_thread

RETAIL = "simia/retail-v0"
LADDER = ",".join(
    ("expert", "expert:0.2:wrong-argument", "expert:0.5:wrong-argument", "expert:0.3:stops-early", "null", "expert:0.2")
)
"""Policies that every domain takes."""
FOUND_AS = {
    "wrong_value": "wrong_writes",
    "missed_write": "missed_writes",
    "spurious_write": "spurious_writes",
    "wrong_observation": "observation",
}
"""Kinds of mistakes, and the figures that show them."""
RATE = 0.2
FIGURES: tuple[str, ...] = (
    "observation",
    "changes",
    "final_state",
    "same_episode",
    "reward",
    "kappa",
    "policy_order",
    "cost",
    "tokens",
)
FIGURES += ("missed_writes", "spurious_writes", "wrong_writes", "false_positives", "false_negatives")


def compared(row: str, *words: str, shown: str = "") -> dict[str, Any]:
    """Run ``simia compare`` and keep its figures; ``shown`` is the command as a user writes it."""
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = simia(["compare", *words, "--json"])
    assert code in (0, 1), (row, words, err.getvalue())
    found = json.loads(out.getvalue().splitlines()[-1])
    figures = {name: {**found["figures"][name]} for name in FIGURES}
    command = shown or shlex.join(["simia", "compare", *words])
    return {
        "row": row,
        "env": found["env"],
        "command": command,
        "episodes": found["left"]["episodes"],
        "faults": found["right"]["invalid"],
        "figures": figures,
        "policies": {one["policy"]: [one["left"]["value"], one["right"]["value"]] for one in found["policies"]},
    }


def themselves(envs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every world against itself, with policies of known grades."""
    for env in envs:
        words = (env, "--left", "world", "--right", "world", "--policies", LADDER, "--out", "itself")
        with in_folder():
            yield compared("itself", *words)


def plausible(env: str) -> dict[str, Any]:
    """A flawless model that varies all that its prompt leaves open."""
    words = [env, "--left", "world", "--right", "llm", "--policies", LADDER, "--out", "plausible", "--model", "oracle"]
    with in_folder(), serve_in_thread(OracleOptions(plausible=True)) as server:
        return compared(
            "plausible", *words, "--base-url", server.base_url, shown=shlex.join(["simia", "compare", *words])
        )


def injected(env: str, kind: str, *, stubborn: bool) -> dict[str, Any]:
    """A model that makes one kind of mistake, at a rate; a stubborn one makes it again when it is asked again."""
    words = [env, "--left", "world", "--right", "llm,render=model", "--open-loop", "--out", "mistakes"]
    words += ["--model", "oracle", "--no-pins"]
    options: dict[str, Any] = {f"{kind}_rate": RATE, "stubborn": stubborn}
    with in_folder(), serve_in_thread(OracleOptions(**options)) as server:
        found = compared(
            "injected", *words, "--base-url", server.base_url, shown=shlex.join(["simia", "compare", *words])
        )
        pairs = simia_gym.compare("mistakes/left", "mistakes/right.open-loop").pairs
        repaired = sum(pair.right.repaired for pair in pairs)
        faults = sum(not pair.right.valid for pair in pairs)
        made = server.counts["errors"][kind]
    return {**found, "kind": kind, "stubborn": stubborn, "injected": made, "repaired": repaired, "faults": faults}


def recorded(data: Path) -> Iterator[dict[str, Any]]:
    """Recorded rollouts of tau2-bench, run again in the worlds, and forced on models without mistakes."""
    for name in ("retail", "airline"):
        given = {"--data": data / "tau2" / name, "--rollouts": data / "rollouts" / f"{name}_tau2.jsonl"}
        words = [f"simia/{name}-v0", "--left", "recorded", "--right", "world"]
        shown = f"{shlex.join(['simia', 'compare', *words])} --data tau2/{name} --rollouts {name}_tau2.jsonl"
        more = [word for flag, path in given.items() for word in (flag, str(path.resolve()))]
        yield compared("recorded", *words, *more, shown=shown)
        for exact, drift in ((True, False), (False, False), (False, True)):
            with in_folder(), serve_in_thread(OracleOptions(plausible=not exact)) as server:
                words[-1:] = ["llm"]
                how = ["--drift" if drift else "--open-loop", "--model", "oracle", "--out", "sides"]
                shown = (
                    f"{shlex.join(['simia', 'compare', *words, *how])} --data tau2/{name} --rollouts {name}_tau2.jsonl"
                )
                found = compared("forced", *words, *how, *more, "--base-url", server.base_url, shown=shown)
            yield {**found, "mode": "drift" if drift else "open loop", "exact": exact}


def found_of(row: Mapping[str, Any]) -> int:
    """How many calls the comparison found that have the mistake that was injected."""
    figure = row["figures"][FOUND_AS[row["kind"]]]
    count: int = figure["count"]
    return figure["n"] - count if row["kind"] == "wrong_observation" else count


def page_rows(found: Mapping[str, Any]) -> Iterator[str]:
    """The rows of the tables of ``docs/trust.md``, for what was measured."""
    for row in found["rows"]:
        env, figures = row["env"].removeprefix("simia/").removesuffix("-v0"), row["figures"]
        if row["row"] == "injected":
            cells = [f"`{row['kind']}`" + (", stubborn" if row["stubborn"] else "")]
            cells += map(str, (row["injected"], row["repaired"]))
            seen = found_of(row)
            cells += [str(seen), _cell(figures["observation"]), _cell(figures["changes"]), str(row["faults"])]
        elif row["row"] == "forced":
            cells = [env, "exact" if row["exact"] else "plausible", row["mode"], str(row["episodes"])]
            cells += [_cell(figures[name]) for name in ("observation", "changes", "reward")] + [str(row["faults"])]
        else:
            names = ("observation", "final_state", "reward", "policy_order")
            cells = [env, str(row["episodes"]), *(_cell(figures[name], share=name != "policy_order") for name in names)]
        yield f"| {' | '.join(cells)} |"


def _cell(figure: Mapping[str, Any], *, share: bool = True) -> str:
    """A figure with its interval and its n."""
    if figure["value"] is None:
        return str(figure["note"].partition(":")[0])
    low, high = figure["interval"] or (math.nan, math.nan)
    if share:
        return f"{100 * figure['value']:.1f}% ({100 * low:.1f} to {100 * high:.1f}; n {figure['n']:,})"
    return f"{figure['value']:.2f} ({low:.2f} to {high:.2f}; {figure['n']} policies)"


@contextlib.contextmanager
def in_folder() -> Iterator[None]:
    """Work in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the rows and print them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    rows = [*themselves(chosen.env or [*domain_folders()])]
    rows.append(plausible(RETAIL))
    rows += [injected(RETAIL, kind, stubborn=stubborn) for kind in FOUND_AS for stubborn in (False, True)]
    rows += [] if chosen.data is None else recorded(chosen.data)
    text = json.dumps({"rate": RATE, "rows": rows}, indent=1)
    print(text)
    if chosen.out is not None:
        chosen.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
