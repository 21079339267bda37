"""tau2-bench: its `Orchestrator` over the retail domain, one thread for each episode, as in its own batch runner.

A turn has one response of its agent and one of its simulated user, both through `litellm`. Its world is code, so the
user's model call takes the place of the simulator's.
"""

# The framework is installed only in its own virtual environment.
# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from importlib.metadata import version

from loguru import logger
from tau2.agent.llm_agent import LLMAgent
from tau2.domains.retail.environment import get_environment, get_tasks
from tau2.orchestrator.orchestrator import Orchestrator
from tau2.user.user_simulator import UserSimulator

from benchmarks.model_calls.measure import Meter, report
from benchmarks.model_calls.peers.shared import setting

_TURNS = 10
_MODEL = "openai/gpt-4.1"  # a model with a known price; for others it logs an error at every response


def play(task: Any, settings: dict[str, Any]) -> int:
    environment = get_environment()
    agent = LLMAgent(environment.get_tools(), environment.get_policy(), llm=_MODEL, llm_args=dict(settings))
    user = UserSimulator(_MODEL, instructions=str(task.user_scenario), llm_args=dict(settings))
    orchestrator = Orchestrator("retail", agent, user, environment, task, max_steps=2 * _TURNS, seed=0)
    played = orchestrator.run()
    said = [message for message in played.messages if message.role in ("assistant", "user")]
    return (len(said) - 1) // 2  # the greeting comes from no model


def main() -> None:
    options, _, address = setting()
    logger.remove()
    concurrency = options["concurrency"]
    settings = {"api_base": f"{address}/free/v1", "api_key": "none", "num_retries": 0}
    tasks = get_tasks()[:1]
    meter = Meter(concurrency, options["mean_latency"])
    play(tasks[0], settings)
    with ThreadPoolExecutor(concurrency) as pool:
        meter.begin()
        turns = sum(pool.map(lambda _: play(tasks[0], settings), range(concurrency)))
        versions = {"tau2": f"{version('tau2')}, public repository", "litellm": version("litellm")}
        report(meter.end(turns, versions=versions))


if __name__ == "__main__":
    main()
