"""The libraries of training: a test that needs some says so, and is skipped where they are not installed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings

import pytest

FOR_VERL = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "VERL_ENGINE_DEVICE": "cuda",
    "VERL_LOGGING_LEVEL": "ERROR",
    "VERL_PLATFORM": "cpu",
}
"""What has to be set before verl is imported where there is no graphics card."""


def need(*names: str) -> None:
    """Import libraries, or skip the module of tests that calls this at its top.

    Their imports warn of things that are not ours, which here would be errors.
    """
    for name in names:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            reason = f'{name} is not installed: pip install "simia-gym[rl]"'
            pytest.skip(reason, allow_module_level=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    if "verl" in names:
        for name, value in FOR_VERL.items():
            os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            importlib.import_module(name)
