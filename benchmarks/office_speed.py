"""Actions a CPU second: office work through ``Episode`` beside a new interpreter an action, as OfficeBench does it.

The other way is a stand-in of our own: a new Python imports openpyxl, python-docx and icalendar, and sets one cell of a
real workbook. CPU time is that of the process and of the interpreters that it starts; both ways take turns.

    python benchmarks/office_speed.py [--passes 5] [--actions 5] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import openpyxl

from benchmarks.engine_speed import Script, expert_scripts, play
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite

ACTION = """import sys, docx, icalendar, openpyxl
book = openpyxl.load_workbook(sys.argv[1])
book.active.cell(2, 2).value = 13
book.save(sys.argv[1])
"""


def cpu() -> float:
    """CPU seconds of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def ours(suite: Suite, scripts: list[Script]) -> float:
    """Steps a CPU second through `Episode`."""
    episode, begin = suite.episode(), cpu()
    steps = sum(play(episode, script) for script in scripts)
    return steps / (cpu() - begin)


def theirs(book: Path, actions: int) -> float:
    """Actions a CPU second with a new interpreter for each."""
    begin = cpu()
    for _ in range(actions):
        subprocess.run([sys.executable, "-c", ACTION, str(book)], check=True)
    return actions / (cpu() - begin)


def shown(rates: list[float]) -> dict[str, Any]:
    """The median with its spread."""
    found = (statistics.median(rates), min(rates), max(rates))
    return {**dict(zip(("median", "least", "most"), (round(rate, 2) for rate in found), strict=True)), "n": len(rates)}


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--actions", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    made = 40
    suite = load_suite(EnvConfig("simia/officebench-v0", split="train", generated=made))
    scripts = expert_scripts(suite, list(suite.tasks)[-made:])
    fast, slow = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.xlsx"
        openpyxl.Workbook().save(path)
        for _ in range(options.passes):
            fast.append(ours(suite, scripts))
            slow.append(theirs(path, options.actions))
    result = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "waiting_processes": round(os.getloadavg()[0], 1),
        "tasks_a_pass": made,
        "actions_a_pass": options.actions,
        "steps_per_cpu_second": {"episode": shown(fast), "interpreter_per_action": shown(slow)},
        "times": round(statistics.median(fast) / statistics.median(slow)),
    }
    text = json.dumps(result, indent=1) + "\n"
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
