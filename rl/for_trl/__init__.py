"""Environments as TRL's trainers take them; `simia_gym.rl` exports what users need.

`episodes_rollout` gives a ``rollout_func`` (multi-turn, token in and token out), `tool_environments` an
``environment_factory`` (everything is a tool). Each has ``dataset()``, the rows to train on.
"""
