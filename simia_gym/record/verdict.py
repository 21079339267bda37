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
    """Convert a verdict to plain JSON values, in a fixed key order."""
    fault = verdict.fault
    return {
        "reward": verdict.reward,
        "valid": verdict.valid,
        "success": verdict.success,
        "score": verdict.score,
        "basis": verdict.basis,
        "criteria": [_criterion(item) for item in verdict.criteria],
        "parts": dict(verdict.parts),
        "fault": None if fault is None else {"role": fault.role, "kind": fault.kind, "message": fault.message},
        "reason": verdict.reason,
    }


def _criterion(item: CriterionResult) -> JsonObject:
    return {
        "id": item.id,
        "kind": item.kind,
        "weight": item.weight,
        "required": item.required,
        "value": item.value,
        "passed": item.passed,
        "reason": item.reason,
        "evidence": [{"event": piece.event, "quote": piece.quote} for piece in item.evidence],
    }


def from_json(data: Mapping[str, Any]) -> Verdict:
    """Make a verdict from the result of `to_json`."""
    criteria = tuple(
        CriterionResult(**{**item, "evidence": tuple(Evidence(**piece) for piece in item["evidence"])})
        for item in data["criteria"]
    )
    fault = data["fault"]
    return Verdict(**{**data, "criteria": criteria, "fault": None if fault is None else FaultInfo(**fault)})
