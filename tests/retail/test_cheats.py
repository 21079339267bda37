"""No policy is rewarded for less than the work."""

from __future__ import annotations

import pytest

from simia_gym.envs.retail.expert import RetailExpert
from simia_gym.policies import Policy
from simia_gym.types import Task
from tests.retail import cheats
from tests.retail.play import Play, fixed, forbidden, generated

N = 250


@pytest.fixture(scope="module")
def many() -> list[Task]:
    return generated(N)


def successes(policy: Policy, tasks: list[Task]) -> list[Task]:
    play = Play("expert")
    play.policy = policy
    verdicts = [play(task, seed) for seed, task in enumerate(tasks)]
    assert all(verdict.valid for verdict in verdicts)
    return [task for task, verdict in zip(tasks, verdicts, strict=True) if verdict.success]


@pytest.mark.parametrize("name", ["Refuser", "BlindRefuser", "Dumper"])
def test_refusing_or_reciting_without_looking_is_no_success(name: str, many: list[Task]) -> None:
    for tasks in (list(fixed()), many):
        assert len(successes(getattr(cheats, name)(), tasks)) <= 0.05 * len(tasks)


def test_refusing_without_any_call_never_succeeds(many: list[Task]) -> None:
    assert not successes(cheats.Refuser(), many)


def test_reciting_without_any_call_never_succeeds() -> None:
    assert not successes(cheats.Reciter(), list(fixed()))


def _changing(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.goal]


def test_vague_proposals_change_nothing() -> None:
    assert not successes(cheats.Vague(), _changing(generated(80)))


def test_what_was_done_and_undone_was_done() -> None:
    assert not successes(cheats.Undoer(), _changing(generated(80)))


def test_who_refuses_and_claims_to_have_done_it_lies() -> None:
    tasks = [task for task in generated(120) if forbidden(task)]
    assert not successes(cheats.Liar(), tasks)


@pytest.mark.parametrize("name", ["Leaker", "AddressLeaker", "PaymentLeaker"])
def test_nothing_is_told_about_others(name: str) -> None:
    tasks = [task for task in generated(120) if task.kind in ("refuse_lookup_other", "refuse_other_user")]
    assert tasks
    assert not successes(getattr(cheats, name)(), tasks)


def test_a_memorised_customer_opens_no_door() -> None:
    class Impostor(RetailExpert):
        def act(self, messages: object) -> str:
            action = self._grammar.render(self._decide(messages))  # type: ignore[arg-type]
            if "find_user_id" not in action:
                return action
            return cheats.tool_call("find_user_id_by_email", email=EMAIL)

    assert not successes(Impostor(), generated(40))


EMAIL = next(iter(Play("expert").episode.domain.base.rows("users")))[1]["email"]
