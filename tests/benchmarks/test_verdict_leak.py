"""Whether the measure of what customers give away finds nothing where nothing is, and something where something is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.verdict_leak import agents, auc, listen, service_of
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli import main

LEAKY = """
from pathlib import Path
from simia_gym.service import Generator, load_service

MADE = Generator(load_service(Path(__file__).parent), "desk")


def generate(split, index):
    task = MADE(split, index)
    for request in task.user["requests"]:
        request["insist"] = 2 if task.kind.startswith("refuse") else request["insist"]
    return task
"""


@pytest.mark.slow
@pytest.mark.parametrize("leaks", [False, True])
def test_a_leak_is_found(leaks: bool, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with pytest.raises(SystemExit):
        main(["new-domain", str(folder), "--kind", "service"])
    if leaks:
        (folder / "leaky.py").write_text(LEAKY)
        manifest = folder / "domain.yaml"
        manifest.write_text(manifest.read_text() + "generator: leaky.py:generate\n")
    suite = load_suite(EnvConfig(env="simia/custom-v0", domain=str(folder), split="train"))
    service = service_of(suite)
    made = suite.domain.generator
    assert made is not None
    tasks = [made("train", index) for index in range(800)]
    low, high = auc(listen(suite, service, agents(service)["refuses"], tasks))["interval"]
    assert low > 0.65 if leaks else low < 0.5 < high
