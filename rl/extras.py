"""Before a training: which libraries are installed, what they say, and the number of CPU cores."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from simia_gym.errors import InputError


def require(extra: str, *modules: str, place: str = "training") -> None:
    """Check that the libraries of an extra are installed, without importing them.

    Raises:
        InputError: A library is missing; says what to install.
    """
    for module in modules:
        if find_spec(module) is None:
            fix = f'Install what {place} needs: pip install "simia-gym[{extra}]"'
            raise InputError(f"{module} is not installed", where=place, fix=fix)


def hide_progress_bars() -> None:
    """Turn off the progress bars of Hugging Face's libraries, here and in the processes that are started from here."""
    for variable in ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
        os.environ.setdefault(variable, "1")
    if "transformers" in sys.modules:  # it has read the first variable at its import
        sys.modules["transformers"].logging.disable_progress_bar()


def first_line(error: BaseException) -> str:
    """The first line of the message of a library's error; the name of its class if there is no message."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def cores() -> int:
    """Number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
