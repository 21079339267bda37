"""What an oracle is asked to do, and what it is asked to do wrong."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from simia_gym.errors import InputError

FAULTS = ("rate_limit", "server_error", "hang", "reset", "truncated", "malformed", "empty", "cut")
"""Kinds of transport faults: status 429 with ``Retry-After: 0``; status 500 or 503; no answer for `OracleOptions.hang`
seconds; a connection reset; an HTTP body that ends too early; one that is no JSON; an empty reply; a reply whose JSON
ends too early."""

_RATES = (
    "fault_rate",
    "wrong_value_rate",
    "missed_write_rate",
    "spurious_write_rate",
    "error_with_effects_rate",
)


@dataclass(frozen=True, slots=True)
class OracleOptions:
    """How an oracle behaves.

    Attributes:
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        domains: Folders of domains that go before the installed ones of the same name.
        data: The user's own data for domains that take some.
        data_free: Never read a task or an initial state: of a domain, only its World class and settings are used.
        model: The only model name that is served; ``None`` serves any.
        context_tokens: Longest prompt that is taken; ``None`` takes any.
        api_key: The key that a request must bring; ``None`` asks for none.
        latency_ms: How long an answer takes at least; the median where `latency_sigma` is set.
        latency_sigma: Spread of a lognormal latency.
        fault_rate: Share of requests that meet a transport fault.
        faults: Which kinds, all equally likely; see `FAULTS`.
        hang: Seconds that a hanging request is held before the connection is dropped.
        wrong_value_rate: Share of answers with operations in which one value is altered.
        missed_write_rate: Share of answers with operations from which one is left out.
        spurious_write_rate: Share of ledger answers with an operation outside the tool's write set.
        error_with_effects_rate: Share of errors, and of answers with operations, that are an error with operations.
        stubborn: Whether the error rates count for repairs, too.
        lenient_judge: Whether the judge says ``met`` to everything, with a real quote.
        no_structured: Whether ``response_format`` is refused.
        no_json_schema: Whether only the form ``json_schema`` of it is refused.
        obedient: Whether instructions outside the data blocks are obeyed; for attack tests.
        seed: Where all chance comes from.
    """

    host: str = "127.0.0.1"
    port: int = 0
    domains: tuple[Path | str, ...] = ()
    data: Path | str | None = None
    data_free: bool = False
    model: str | None = None
    context_tokens: int | None = None
    api_key: str | None = None
    latency_ms: float = 0.0
    latency_sigma: float = 0.0
    fault_rate: float = 0.0
    faults: tuple[str, ...] = FAULTS
    hang: float = 30.0
    wrong_value_rate: float = 0.0
    missed_write_rate: float = 0.0
    spurious_write_rate: float = 0.0
    error_with_effects_rate: float = 0.0
    stubborn: bool = False
    lenient_judge: bool = False
    no_structured: bool = False
    no_json_schema: bool = False
    obedient: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            InputError: One is impossible.
        """
        for name in _RATES:
            rate = getattr(self, name)
            if not 0 <= rate <= 1:
                raise InputError(f"{rate!r} is no share", where=name, fix="Use a number from 0 to 1.")
        for name in ("latency_ms", "latency_sigma", "hang"):
            if not 0 <= getattr(self, name) < 1e9:
                raise InputError(
                    f"{getattr(self, name)!r} is too little or too much", where=name, fix="Use at least 0."
                )
        if not 0 <= self.port < 65536:
            raise InputError(f"{self.port} is no port", where="port", fix="Use 0 to 65535.")
        for kind in self.faults:
            if kind not in FAULTS:
                raise InputError(f"there is no fault {kind!r}", where="faults", fix=f"Known: {', '.join(FAULTS)}.")
        if self.fault_rate and not self.faults:
            raise InputError("no kind of fault is left to choose from", where="faults", fix="Name at least one.")


NAMES = tuple(field.name for field in fields(OracleOptions))
"""The names of all options."""
