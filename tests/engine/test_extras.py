"""A domain's public extras reach every face as the world gave them, in vectors too."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.cli.new_domain import TEMPLATES

from ..domains.table import ALLOWED

MODES: dict[str, dict[str, Any]] = {
    "native": {},
    "sync": {"vectorization_mode": "sync"},
    "async": {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}},
}
GIVEN = [3, 0.375, "full", None, True, {"deep": [1]}, [1, 2.5]]
INFO = f"""

def _info(self, state):
    return {{"load": {GIVEN!r}[state.get("_episode", "main")["seed"] % {len(GIVEN)}]}}


LibraryWorld.info = _info
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    shutil.copytree(TEMPLATES / "tools", tmp_path / "desk")
    path = tmp_path / "desk" / "world.py"
    (name,) = [line.split()[1].partition("(")[0] for line in path.read_text().splitlines() if line.startswith("class ")]
    path.write_text(path.read_text() + INFO.replace("LibraryWorld", name))
    return str(tmp_path / "desk")


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings(*ALLOWED)
def test_each_lane_keeps_its_own_extras(folder: str, mode: str) -> None:
    n = 24
    vector = gym.make_vec("simia/custom-v0", num_envs=n, domain=folder, **MODES[mode])
    _, begun = vector.reset(seed=1)
    expected = [GIVEN[seed % len(GIVEN)] for seed in begun["seed"]]
    assert len({type(value) for value in expected}) == len({type(value) for value in GIVEN})
    *_, stepped = vector.step(['<tool_call>\n{"name": "search_books", "arguments": {"title": "a"}}\n</tool_call>'] * n)
    for info in (begun, stepped):
        assert all(same(info["world"][lane]["load"], expected[lane]) for lane in range(n))
    vector.close()


def test_the_extras_of_one_environment_are_a_mapping(folder: str) -> None:
    env = gym.make("simia/custom-v0", domain=folder)
    _, info = env.reset(seed=1)
    value = GIVEN[info["seed"] % len(GIVEN)]
    assert info["world"] == {"load": value} == dict(info["world"])
    assert repr(info["world"]) == repr({"load": value})
    assert pickle.loads(pickle.dumps(info["world"])) == info["world"]
    with pytest.raises(TypeError, match="does not support item assignment"):
        info["world"]["load"] = 1
