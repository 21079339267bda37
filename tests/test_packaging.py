"""The package installs as a wheel and editable, with three of its four folders mapped below ``simia_gym``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from .test_dependency_rule import imported

HEAVY = ("torch", "ray", "verl", "vllm", "transformers")
EPISODE = """
import gymnasium as gym, simia_gym, sys
import simia_gym.envs, simia_gym.rewards, simia_gym.rl
env = gym.make("simia/retail-v0")
observation, info = env.reset(seed=1)
assert observation and info["tools"]
env.step("hello")
print(simia_gym.__file__, simia_gym.envs.__path__[0], simia_gym.rewards.__file__)
"""


def run(code: str, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = Path(__file__).resolve().parent.parent
    out, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source") / "checkout"
    # Built from a copy: setuptools leaves a build folder behind, and packs what an older one still holds.
    ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "runs")
    shutil.copytree(checkout, source, ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_wheel_holds_every_file(wheel: Path, checkout: Path) -> None:
    """A folder of modules or of package data that `setup.cfg` does not list is missing from the built wheel."""
    names = set(zipfile.ZipFile(wheel).namelist())
    mapping = {"simia_gym": "simia_gym", "envs": "simia_gym/envs", "rewards": "simia_gym/rewards", "rl": "simia_gym/rl"}
    missing = [
        path.relative_to(checkout).as_posix()
        for folder, target in mapping.items()
        for path in (checkout / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and f"{target}/{path.relative_to(checkout / folder).as_posix()}" not in names
    ]
    assert not missing, "list their folders in setup.cfg, under packages or package_data"
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"simia_gym"}


@pytest.mark.slow
def test_wheel_runs_an_episode(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    out = run(EPISODE, tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert out.count(str(tmp_path / "site")) == 3


def test_core_install_is_light(tmp_path: Path) -> None:
    core = [line for line in requires("simia-gym") or [] if "extra ==" not in line]
    assert not [line for line in core if line.lower().startswith(HEAVY)]
    check = f"import sys; assert not [m for m in {HEAVY!r} if m in sys.modules]"
    run(EPISODE + check, tmp_path)


@pytest.mark.slow
def test_product_code_imports_every_dependency(checkout: Path) -> None:
    listed = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.split(r"[^\w-]", line)[0].lower() for line in listed}
    modules = {
        name.partition(".")[0]
        for folder in ("simia_gym", "envs", "rewards", "rl")
        for path in (checkout / folder).rglob("*.py")
        for name in imported(path)
    }
    used = {name.lower().replace("_", "-") for module in modules for name in packages_distributions().get(module, ())}
    assert not names - used


@pytest.mark.slow
def test_an_import_loads_only_gymnasium(tmp_path: Path) -> None:
    """Everything else is loaded when it is first used, which keeps the import quick."""
    code = "import sys; print(*sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
    faces = "simia_gym, simia_gym.rewards, simia_gym.rl"
    with_faces = set(run(f"import gymnasium, {faces}; {code}; simia_gym.Episode", tmp_path).split())
    assert with_faces - set(run(f"import gymnasium; {code}", tmp_path).split()) == {"simia_gym"}
