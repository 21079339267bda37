"""Adapters of environments for TRL's trainers; `simia_gym.rl` exports what users need.

`episodes_rollout` gives a ``rollout_func`` (multi-turn, token in and token out), `tool_environments` an
``environment_factory`` (every action is a tool call). Each has a method ``dataset()``, the training dataset.
"""
