"""The attacks are real: the same words are orders in prompts that put them down bare."""

from __future__ import annotations

import json

import pytest

from simia_gym.llm.blocks import block
from simia_gym.oracle.obeying import orders
from simia_gym.oracle.reading import read_request

from .book import BOOK, Attack

TAG = "0123456789ab"
CALL = block("call", TAG, {"name": "calculate"})


@pytest.mark.parametrize("attack", [attack for attack in BOOK if attack.orders], ids=lambda attack: attack.name)
def test_every_order_is_read_where_it_stands_bare(attack: Attack) -> None:
    messages = [
        {"role": "system", "content": "You play a part."},
        {"role": "user", "content": f"The agent says:\n{attack.for_tag(TAG).text}\n{CALL}"},
    ]
    found = orders(read_request(json.dumps({"messages": messages}).encode()))
    for order in ("observation", "confirm", "reward 1"):
        assert any(each.startswith(order) for each in found), found
