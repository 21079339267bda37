"""How often a policy succeeds: in one try, in every one of k tries, in at least one of k.

Of n trials of a task c succeeded. The probability that k trials drawn from them without replacement are all successes
is the unbiased estimate of ``pass^k`` (Yao et al., "tau-bench", arXiv:2406.12045), and the probability that at least
one is, of ``pass@k`` (Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374). Both are
estimates for one task; what is reported is their mean over tasks.
"""

from __future__ import annotations

from math import comb

from simia_gym.errors import InputError


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """Estimate the probability that k independent trials of a task all succeed.

    Args:
        trials: How many trials there were; at least k.
        successes: How many succeeded.
        k: How many have to succeed.

    Returns:
        C(successes, k) / C(trials, k), in [0, 1].

    Raises:
        InputError: The numbers cannot be.
    """
    _check(trials, successes, k)
    return comb(successes, k) / comb(trials, k)


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Estimate the probability that at least one of k independent trials of a task succeeds.

    Args:
        trials: How many trials there were; at least k.
        successes: How many succeeded.
        k: How many tries there are.

    Returns:
        1 - C(trials - successes, k) / C(trials, k), in [0, 1].

    Raises:
        InputError: The numbers cannot be.
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
