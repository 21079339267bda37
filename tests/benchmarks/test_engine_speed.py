from __future__ import annotations

from benchmarks.engine_speed import calls_of_one_action


def test_the_way_of_an_action_is_short() -> None:
    for form, found in calls_of_one_action().items():
        assert found["function_calls"] <= 49, form
        assert found["files"] <= 14, form
