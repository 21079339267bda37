"""What the tests of the grammars share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

WEBSHOP = "simia_gym.envs.webshop.grammar:WebshopGrammar"
# Time per example says nothing on a busy machine.
FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
