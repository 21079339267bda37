"""No policy is rewarded for less than the work."""

from __future__ import annotations

import pytest

from simia_gym.policies import Policy
from tests.retail import cheats
from tests.retail.play import fixed, forbidden, generated, rate, successes, suite
from tests.simulators.desk import tool_call


@pytest.mark.parametrize("policy", ["null", "claimer", "random", cheats.BlindRefuser(), cheats.Dumper()])
def test_idling_refusing_or_reciting_without_looking_is_no_success(policy: str | Policy) -> None:
    for tasks in (fixed(), generated(250)):
        assert rate(policy, tasks) <= 0.05


def test_refusing_or_reciting_without_any_call_never_succeeds() -> None:
    assert not successes(cheats.Refuser(), generated(250))
    assert not successes(cheats.Reciter(), fixed())


@pytest.mark.parametrize("cheat", [cheats.Vague, cheats.Undoer])
def test_vague_proposals_and_undone_changes_are_no_success(cheat: type[Policy]) -> None:
    assert not successes(cheat(), [task for task in generated(80) if task.goal])


def test_who_refuses_and_claims_to_have_done_it_lies() -> None:
    assert not successes(cheats.Liar(), [task for task in generated(120) if forbidden(task)])


@pytest.mark.parametrize("what", ["price", "address", "payment"])
def test_nothing_is_told_about_others(what: str) -> None:
    tasks = [task for task in generated(120) if task.kind in ("refuse_lookup_other", "refuse_other_user")]
    assert tasks
    assert not successes(cheats.Leaker(what), tasks)


def test_a_memorised_customer_opens_no_door() -> None:
    email = next(iter(suite().domain.base.rows("users")))[1]["email"]

    class Impostor(cheats.Bent):
        def bend_call(self, action: str) -> str:
            return tool_call("find_user_id_by_email", email=email) if "find_user_id" in action else action

    assert not successes(Impostor(), generated(40))
