"""Compares two records, or two sets of records, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from simia_gym.errors import InputError
from simia_gym.evaluation.comparing.comparison import Comparison, Flip, Pair, Side
from simia_gym.evaluation.comparing.episodes import Bases, Prices, compare_episodes
from simia_gym.evaluation.comparing.figures import RESAMPLES, Calls, figures_of
from simia_gym.evaluation.comparing.files import Records
from simia_gym.evaluation.comparing.pairing import differing, pair_up

PathOrPaths = str | Path | Sequence[str | Path]
Walked: TypeAlias = tuple[Pair, list[tuple[str, bool]]]
"""A pair, and its compared calls: the tool, and whether both observations are the same."""
_FEW_POLICIES = 6
"""With fewer policies, Kendall's tau says little."""


def compare(
    left: PathOrPaths,
    right: PathOrPaths,
    *,
    labels: tuple[str, str] | None = None,
    seed: int = 0,
    prices: Prices | tuple[Prices, Prices] | None = None,
) -> Comparison:
    """Compare two records of the same tasks, as ``simia compare`` does.

    Episodes are paired by policy, task and member; if each side has one policy, by task and member. Only one pair is in
    memory at a time, so that records may be large.

    Args:
        left: The reference: a record file, a folder of records, or several of them.
        right: What is compared with it.
        labels: Names of the two sides; by default the names of the files.
        seed: Random seed of the bootstrap.
        prices: USD per million tokens by the role of a model, such as ``{"simulator": {"price_in": 0.5, "price_out":
            2}}``; or those of the left side and those of the right side. Without them there are tokens and no cost.

    Returns:
        The comparison.

    Raises:
        InputError: A record cannot be read, or both sides have no episode, domain or version of a task in common.
    """
    with closing(Records(_paths(left))) as first, closing(Records(_paths(right))) as second:
        both = prices if isinstance(prices, tuple) else (prices or {}, prices or {})
        return compare_records(first, second, labels=labels, seed=seed, prices=both)


def compare_records(
    first: Records,
    second: Records,
    *,
    labels: tuple[str, str] | None = None,
    seed: int = 0,
    prices: tuple[Prices, Prices] = ({}, {}),
) -> Comparison:
    """Compare two sides that are open; see `compare`."""
    _check_domains(first, second)
    compared = differing(first.settings, second.settings)
    mode = str((compared.pop("forced", None) or (None, None))[1] or "closed-loop")
    renamed: dict[str, str] = {}
    if len(first.policies) == len(second.policies) == 1:
        (one,), (two,) = first.policies, second.policies
        if one != two:
            compared["policy"] = (one, two)
        renamed[one] = two
    for policy in first.policies:
        hashes = first.policies[policy], second.policies.get(policy, first.policies[policy])
        if hashes[0] != hashes[1]:
            compared[f"policy_hash of {policy}"] = hashes
    wanted = ((renamed[key[0]], *key[1:]) if renamed else key for key in first)
    original = {other: one for one, other in renamed.items()}
    pairing = pair_up(wanted, second)
    if not pairing.both:
        what = "both sides have no episode in common: no policy plays the same task on both"
        raise InputError(what, where="compare", fix="Play the same tasks, with the same policies, on both sides.")
    bases = Bases()

    def walk() -> Iterator[Walked]:
        for key in pairing.both:
            left = (original.get(key[0], key[0]), *key[1:])
            label = key[0] if left == key else f"{left[0]} | {key[0]}"
            yield compare_episodes(first.read(left), second.read(key), bases, label, prices)

    return joined(
        walk(),
        seed=seed,
        env=first.env,
        domain_hash=first.domain_hash,
        labels=labels or _labels(first, second),
        sources=(tuple(map(str, first.paths)), tuple(map(str, second.paths))),
        compared=compared,
        mode=mode,
        unpaired=(pairing.only_first, pairing.only_second),
        warnings=[*first.warnings, *second.warnings],
    )


def joined(
    walked: Iterable[Walked],
    *,
    seed: int,
    env: str,
    domain_hash: str,
    labels: tuple[str, str],
    sources: tuple[tuple[str, ...], tuple[str, ...]],
    compared: Mapping[str, tuple[Any, Any]],
    mode: str,
    unpaired: tuple[int, int] = (0, 0),
    warnings: Sequence[str] = (),
) -> Comparison:
    """Join the pairs to a comparison, and compute its figures; the other arguments are what it says of them."""
    pairs, calls, known = list[Pair](), list[Calls](), dict[Calls, Calls]()
    for pair, made in walked:
        pairs.append(pair)
        calls.append(known.setdefault(pattern := tuple(made), pattern))  # many episodes have the same calls
    figures, warnings = figures_of(pairs, calls, seed), [*warnings]
    if 1 < len(figures.policies) < _FEW_POLICIES:
        warnings.append(
            f"an order of {len(figures.policies)} policies says little; {_FEW_POLICIES} or more say something"
        )
    sides = [
        Side(
            label=label,
            sources=source,
            episodes=len(pairs) + only,
            unpaired=only,
            invalid=sum(not getattr(pair, side).valid for pair in pairs),
        )
        for label, source, only, side in zip(labels, sources, unpaired, ("left", "right"), strict=True)
    ]
    return Comparison(
        env=env,
        domain_hash=domain_hash,
        left=sides[0],
        right=sides[1],
        compared=compared,
        figures=figures.figures,
        tools=figures.tools,
        policies=figures.policies,
        flips=_flips(pairs),
        pairs=tuple(pairs),
        seed=seed,
        resamples=RESAMPLES,
        mode=mode,
        steps=figures.steps,
        warnings=tuple(warnings),
    )


def _paths(given: PathOrPaths) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(one) for one in given]


def _check_domains(first: Records, second: Records) -> None:
    if first.env != second.env:
        what = f"the left side is of {first.env}, the right side of {second.env}"
        raise InputError(what, where="compare", fix="Compare records of one environment.")
    if first.domain_hash != second.domain_hash:
        what = f"{first.env} has version {first.domain_hash} on the left side and {second.domain_hash} on the right"
        raise InputError(what, where="compare", fix="Play both sides with one version of the domain and its data.")


def _labels(first: Records, second: Records) -> tuple[str, str]:
    names = [", ".join(path.name for path in one.paths) for one in (first, second)]
    if names[0] == names[1]:
        names = [", ".join(map(str, one.paths)) for one in (first, second)]
    return names[0], names[1]


def _flips(pairs: Sequence[Pair]) -> tuple[Flip, ...]:
    """The tasks of which a pair succeeds on one side alone, by policy."""
    flipped: dict[tuple[str, str], Any] = {}
    for pair in pairs:
        if pair.scored and pair.left.success != pair.right.success:
            flipped[pair.policy, pair.task] = [0, 0, 0]
    for pair in pairs:
        counts = flipped.get((pair.policy, pair.task))
        if counts is not None and pair.scored:
            counts[0] += pair.left.success
            counts[1] += pair.right.success
            counts[2] += 1
    return tuple(Flip(*key, left / n, right / n) for key, (left, right, n) in sorted(flipped.items()))
