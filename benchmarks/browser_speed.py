"""Steps of Mind2Web's sites: ``Episode`` with its ledger, beside a real browser that Playwright drives.

The expert's actions are played on fresh tasks, and on other copies of them with caches that are emptied before each
episode. A headless Chromium plays the same actions on the first tasks of each pass, one page for all, against the
server of ``simia serve-site``; after each action its page is read, as an agent would have to. CPU time is that of all
processes that take part, the driver and the server included. The ways take turns, so that a busy machine is busy for
all.

    pip install playwright
    python -m benchmarks.browser_speed [--passes 5] [--tasks 200] [--in-browser 6] [--chromium PROGRAM] [--out FILE]
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

from benchmarks.engine_speed import Script, expert_scripts, play
from benchmarks.sandbox_speed import cpu
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.domain.goal import first_difference
from simia_gym.domain.tasks import gold_calls
from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.serving.visitor import Visitor, on_task
from simia_gym.envs.mind2web.serving.web import SiteServer
from simia_gym.envs.mind2web.world import SiteWorld
from simia_gym.types import Task

_ACTABLE = "a[href], button, input:not([type=hidden]), select, textarea"
_WORLD = SiteWorld()


class Act(NamedTuple):
    """An action on the element in a place of the page, which may lead to another page."""

    name: str
    place: int
    value: str
    leaves: bool


class Cost(NamedTuple):
    """What a pass took: steps, seconds of CPU, seconds of the clock."""

    steps: int
    cpu: float
    clock: float


def acts(suite: Suite, task: Task) -> list[Act]:
    """The gold actions by places instead of letters; to ask for further letters, or to end the visit, is none."""
    state, found = suite.domain.begun(task), list[Act]()
    for call in gold_calls(task):
        session = screen.session_of(state)
        opened = screen.open_page(state, session)
        node = screen.choices_of(opened, session).nodes.get(call.arguments.get("choice", ""))
        if node is not None:
            leaves = call.name == "click" and node.kind in {"link", "submit"}
            found.append(Act(call.name, opened.actable.index(node), call.arguments.get("value", ""), leaves))
        state = _WORLD.call(state, call).state or state
    return found


def emptied() -> list[Callable[[], None]]:
    """What empties the caches of pages, texts and rows. The files of the sites stay read."""
    kept = type(functools.lru_cache(lambda: None))
    found = [one for one in gc.get_objects() if isinstance(one, kept) and one.__module__.startswith("simia_gym")]
    return [one.cache_clear for one in found if one.cache_parameters()["maxsize"] is not None]


def measured(work: Callable[[], int], used: Callable[[], float]) -> Cost:
    """Does work that makes steps.

    Args:
        work: Gives the number of steps.
        used: Gives the CPU seconds of what takes part.
    """
    before, began = used(), time.perf_counter()
    steps = work()
    return Cost(steps, used() - before, time.perf_counter() - began)


def in_episodes(suite: Suite, scripts: Iterable[Script], clears: Sequence[Callable[[], None]] = ()) -> Cost:
    """Plays through `Episode`."""
    episode = suite.episode()

    def work() -> int:
        steps = 0
        for script in scripts:
            for clear in clears:
                clear()
            steps += play(episode, script)
        return steps

    return measured(work, time.process_time)


def in_browser(page: Page, server: SiteServer, visits: Sequence[tuple[Task, Visitor, list[Act]]]) -> Cost:
    """Plays in a real browser; the tables in the end must be right."""

    def work() -> int:
        for _, visitor, todo in visits:
            server.visitor = visitor
            page.goto(server.url + visitor.site.start)
            for act in todo:
                done(page, act)
                page.content()
        return sum(len(todo) for _, _, todo in visits)

    cost = measured(work, lambda: cpu(os.getpid()))
    for task, visitor, _ in visits:
        wrong = first_difference(task.goal or (), visitor.start, visitor.state, ignore=("/session",))
        assert wrong is None, (task.id, wrong)
    return cost


def done(page: Page, act: Act) -> None:
    """Does an action, and waits for the page to which it leads."""
    found = page.locator(_ACTABLE).nth(act.place)
    if act.name == "select":
        found.select_option(label=act.value)
    elif act.name == "type":
        found.fill(act.value)
    elif act.leaves:
        with page.expect_navigation():
            found.click()
    else:
        found.click()


def shown(costs: Sequence[Cost]) -> dict[str, Any]:
    """Medians over the passes, each with its spread."""

    def spread(values: list[float]) -> dict[str, float]:
        found = (statistics.median(values), min(values), max(values))
        return {name: float(f"{value:.4g}") for name, value in zip(("median", "least", "most"), found, strict=True)}

    return {
        "passes": len(costs),
        "steps": sum(cost.steps for cost in costs),
        "steps_a_second": spread([cost.steps / cost.clock for cost in costs]),
        "steps_a_cpu_second": spread([cost.steps / cost.cpu for cost in costs]),
        "cpu_seconds_a_step": spread([cost.cpu / cost.steps for cost in costs]),
    }


def main() -> None:
    """Measure, print, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=200, help="tasks of a pass through Episode")
    parser.add_argument("--in-browser", type=int, default=6, help="tasks of a pass in the browser")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    passes, each, few = options.passes, options.tasks, options.in_browser
    config = EnvConfig("simia/mind2web-v0", split="train", generated=passes * each)
    suite = load_suite(config)
    scripts = expert_scripts(suite, suite.tasks[-passes * each :])
    costs: dict[str, list[Cost]] = {"episode": [], "episode_cold_caches": [], "chromium": []}
    # Suites of their own, which have not seen the tasks.
    warm, cold = load_suite(config), load_suite(config)
    for copy in (warm, cold):
        in_episodes(copy, expert_scripts(suite, suite.tasks[:10]))  # reads what is read once
    clears = emptied()
    gc.collect()
    gc.freeze()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        page = browser.new_page()
        for number in range(passes):
            part = scripts[number * each : (number + 1) * each]
            visits = [(task, on_task(suite.domain, task, None), acts(suite, task)) for task, _, _ in part[:few]]
            for clear in clears:
                clear()
            costs["episode"].append(in_episodes(warm, part))
            costs["episode_cold_caches"].append(in_episodes(cold, part, clears))
            with SiteServer(visits[0][1]) as server:
                costs["chromium"].append(in_browser(page, server, visits))
        chromium = browser.version
        browser.close()
    results = {name: shown(found) for name, found in costs.items()}

    def times(name: str, rate: str) -> int:
        """How many times as many steps as in Chromium."""
        ours, chromiums = (float(results[one][rate]["median"]) for one in (name, "chromium"))
        return round(ours / chromiums)

    result = {
        "python": platform.python_version(),
        "playwright": version("playwright"),
        "chromium": chromium,
        "cores": os.cpu_count(),
        "waiting_processes": round(os.getloadavg()[0], 1),
        "tasks_a_pass": {"episode": each, "episode_cold_caches": each, "chromium": few},
        "results": results,
        "times_chromium": {
            name: {"by_cpu": times(name, "steps_a_cpu_second"), "by_clock": times(name, "steps_a_second")}
            for name in ("episode", "episode_cold_caches")
        },
    }
    text = json.dumps(result, indent=1) + "\n"
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
