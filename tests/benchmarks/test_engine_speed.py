from __future__ import annotations

from benchmarks.engine_speed import calls_of_one_action


def test_the_way_of_an_action_is_short() -> None:
    most = {"text": (56, 16), "message": (61, 14)}
    for form, found in calls_of_one_action().items():
        assert found["function_calls"] <= most[form][0], form
        assert found["files"] <= most[form][1], form
