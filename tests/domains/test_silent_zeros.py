"""A model that always says the same is a fault with a name: never a valid zero of an agent without flaw."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simia_gym.domain.limits import TOO_LARGE
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.types import JsonObject
from simia_gym.users.slips import Part, Talk, slips

from ..attacks.stage import play
from ..model_server import serving
from ..proof.stage import outcomes, play_all, suite_of
from ..simulators.desk import tool_call
from .conftest import FOLDERS
from .table import World

SAME = {"message": "The order is your order, please.", "stop": False, "confirms": True}
USERS: dict[str, JsonObject] = {
    "agrees": SAME,
    "repeats": {**SAME, "confirms": False},
    "agent": {**SAME, "message": "How can I help you today?", "confirms": False},
    **{text: {**SAME, "message": text, "confirms": False} for text in ("Yes.", "Okay.", "No.", "Please help me.")},
}
EMPTY: JsonObject = {"outcome": "ok", "error_code": None, "reveals": [], "ops": [], "observation": "buy now"}
NOTHING = {**EMPTY, "outcome": "error", "error_code": "not_found", "observation": "Error: there is none"}


@pytest.mark.sampled
def test_with_the_shadow_a_wrong_state_is_a_fault(world: World) -> None:
    """What no rule can detect, a world at hand proves."""
    with serve_in_thread(OracleOptions(domains=FOLDERS, wrong_value_rate=0.5, missed_write_rate=0.5)) as server:
        suite = world.suite(server.base_url, simulator="llm", pins=False, shadow_faults=True)
        played = play_all(suite, world.some)
        assert sum(server.counts["errors"].values()) > 0
    for task, outcome in played.items():
        fault = outcome.verdict.fault
        assert outcome.verdict.reward == 1 if fault is None else fault.role == "simulator", task


CODES = {
    "retail": (
        "not_found wrong_status invalid_reason already_modified same_payment_method insufficient_balance mismatch "
        "nothing_to_do same_item unavailable not_original_payment bad_expression"
    ),
    "airline": (
        "not_found not_available no_seats limit_reached cancelled mismatch invalid_amount insufficient_balance "
        "wrong_total certificate_not_accepted bad_expression"
    ),
    "webshop": "empty_keywords no_search_bar not_clickable",
    "os": "bad_script time output disk",
    "officebench": (
        "bad_path bad_cell bad_text bad_summary bad_time exists no_event no_app no_file wrong_kind unknown_user "
        "empty_prompt bad_address bad_subject bad_content no_mail bad_expression"
    ),
    "mind2web": "no_choice",
}
"""The errors that the tools of the domains can give."""


async def ends(env: str, reply: Any, tasks: int = 40, **settings: Any) -> Counter[str]:
    """How so many episodes of the expert end, if every answer of the model is this one."""
    async with serving(lambda asked: reply) as server:
        suite = suite_of(env, server.url, model="m", pins=False, **settings)
        played = await outcomes(suite, list(suite.domain.tasks["train"])[:tasks])
    found = Counter[str]()
    for outcome in played.values():
        verdict = outcome.verdict
        found[f"{verdict.fault.role}" if verdict.fault else f"reward {verdict.reward}"] += 1
    return found


@pytest.mark.parametrize("env", ["simia/retail-v0", "simia/airline-v0"])
@pytest.mark.parametrize("reply", USERS.values(), ids=USERS)
async def test_a_customer_that_always_says_the_same_is_a_fault(env: str, reply: JsonObject) -> None:
    assert set(await ends(env, reply, simulator="world", user="llm")) == {"user"}


@pytest.mark.parametrize("env", ["simia/retail-v0", "simia/airline-v0", "simia/webshop-v0"])
@pytest.mark.parametrize("reply", [EMPTY, NOTHING], ids=["changes", "finds"])
async def test_a_simulator_that_changes_or_finds_nothing_is_a_fault_where_something_must_change(
    env: str, reply: JsonObject
) -> None:
    found = await ends(env, reply, simulator="llm")
    assert set(found) <= {"simulator", "reward 1.0"}  # where nothing is to be changed, code shows what is there
    assert found["simulator"] >= 20


@pytest.mark.parametrize("env", ["simia/retail-v0", "simia/airline-v0"])
@pytest.mark.parametrize("observation", ["{}", "5", "[]"])
async def test_what_a_simulator_writes_has_the_form_of_what_the_tool_returns(env: str, observation: str) -> None:
    """A policy that cannot read it makes no mistake; only what is a text in any case, such as an id, may be wrong."""
    found = await ends(env, {**EMPTY, "observation": observation}, simulator="llm", render="model")
    assert "policy" not in found
    assert found["simulator"] >= 35


@pytest.mark.sampled
async def test_an_error_that_does_not_occur_is_a_fault_whichever_it_is(registered: World) -> None:
    for code in [*CODES[registered.folder.name].split(), TOO_LARGE]:
        found = await ends(registered.name, {**NOTHING, "error_code": code}, tasks=8, simulator="llm")
        assert set(found) <= {"simulator", "reward 1.0"}, code
        assert found["simulator"] >= 2, code


def test_a_mistake_of_the_agent_is_no_slip_of_the_simulator() -> None:
    """One name is right and another is not: the oracle says what the world says."""
    real = suite_of("simia/retail-v0", simulator="world")
    tables = real.domain.base.to_tables()
    order_id, order = next((key, row) for key, row in tables["orders"].items() if row["status"] == "pending")
    item, user = order["items"][0], tables["users"][order["user_id"]]
    first, place = user["name"]["first_name"], user["address"]["zip"]
    calls = [
        ("find_user_id_by_name_zip", {"first_name": first, "last_name": "Nobody", "zip": place}),
        ("find_user_id_by_email", {"email": place}),
        ("get_user_details", {"user_id": user["email"]}),
        ("get_item_details", {"item_id": item["product_id"]}),
        ("get_product_details", {"product_id": item["item_id"]}),
        ("modify_pending_order_payment", {"order_id": order_id, "payment_method_id": "paypal"}),
    ]
    actions = [
        tool_call(name, **arguments) for name, arguments in (*calls, ("transfer_to_human_agents", {"summary": "x"}))
    ]
    truth = play(real, real.tasks[0], actions)
    assert [code for _, _, code in truth.answers] == ["not_found"] * len(calls) + [None]
    with serve_in_thread(OracleOptions(domains=FOLDERS)) as server:
        simulated = play(suite_of("simia/retail-v0", server.base_url, simulator="llm"), real.tasks[0], actions)
    assert simulated.verdict.fault is None
    assert simulated.answers == truth.answers


def test_a_customer_with_a_script_makes_no_slip(talking: World) -> None:
    """What the customers of tasks say, and what they say yes to, contradicts nothing."""
    played = play_all(talking.suite(simulator="world"), talking.some)
    for task in talking.some:
        talk = Talk(Part.of(task.user or {}))
        for event in played[task.id].events:
            if event["type"] == "message":
                said = {"message": event["text"], "stop": False, "confirms": False}
            elif event["type"] == "transition" and event["call"] is None:
                talk.hear(event["say"])
                acts = event["meta"].get("acts", ())
                said = {"message": event["observation"], "stop": "leave" in acts, "confirms": "confirm" in acts}
            else:
                continue
            assert slips(said, talk) == [], task.id
            talk.say(said)
