"""Convert verdicts to and from JSON, and make the verdict of an episode that ended with a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.errors import Fault
from simia_gym.types import CriterionResult, Evidence, FaultInfo, JsonObject, Verdict


def faulted(fault: Fault) -> Verdict:
    """The invalid verdict, without a reward, of an episode that ended with a fault."""
    info = FaultInfo(role=fault.role, kind=fault.kind, message=fault.message)
    return Verdict(reward=None, valid=False, success=False, score=None, basis="none", fault=info, reason=str(fault))


def to_json(verdict: Verdict) -> JsonObject:
    """Convert a verdict to plain JSON values; the keys are the fields in their order."""
    criteria = [{**_fields(item), "evidence": [_fields(piece) for piece in item.evidence]} for item in verdict.criteria]
    fault = None if verdict.fault is None else _fields(verdict.fault)
    return {**_fields(verdict), "criteria": criteria, "parts": dict(verdict.parts), "fault": fault}


def _fields(value: Verdict | CriterionResult | Evidence | FaultInfo) -> JsonObject:
    return {name: getattr(value, name) for name in type(value).__slots__}


def from_json(data: Mapping[str, Any]) -> Verdict:
    """Make a verdict from the result of `to_json`."""
    criteria = tuple(
        CriterionResult(**{**item, "evidence": tuple(Evidence(**piece) for piece in item["evidence"])})
        for item in data["criteria"]
    )
    fault = data["fault"]
    return Verdict(**{**data, "criteria": criteria, "fault": None if fault is None else FaultInfo(**fault)})
