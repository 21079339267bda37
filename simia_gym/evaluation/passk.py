"""Unbiased estimates of ``pass^k`` (all of k trials succeed) and ``pass@k`` (at least one of k succeeds) for one task.

Given c successes in n trials, draw k of the trials without replacement. The probability that all are successes is the
estimate of ``pass^k`` (Yao et al., "tau-bench", arXiv:2406.12045); the probability that at least one is a success is
the estimate of ``pass@k`` (Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374). Reports
give the mean over tasks.
"""

from __future__ import annotations

from math import comb

from simia_gym.errors import InputError


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """Estimate the probability that k independent trials of a task all succeed.

    Returns:
        C(successes, k) / C(trials, k), in [0, 1].

    Raises:
        InputError: Not 0 <= successes <= trials, or not 1 <= k <= trials.
    """
    _check(trials, successes, k)
    return comb(successes, k) / comb(trials, k)


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Estimate the probability that at least one of k independent trials of a task succeeds.

    Returns:
        1 - C(trials - successes, k) / C(trials, k), in [0, 1].

    Raises:
        InputError: Not 0 <= successes <= trials, or not 1 <= k <= trials.
    """
    _check(trials, successes, k)
    return 1.0 - comb(trials - successes, k) / comb(trials, k)


def _check(trials: int, successes: int, k: int) -> None:
    if not 0 <= successes <= trials:
        fix = "Count each trial once."
        raise InputError(f"{successes} of {trials} trials succeeded", where="pass^k", fix=fix)
    if not 1 <= k <= trials:
        fix = "Ask for k from 1 to the number of trials."
        raise InputError(f"k is {k} and there are {trials} trials", where="pass^k", fix=fix)
