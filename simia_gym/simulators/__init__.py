"""Simulators, which answer tool calls: by the domain's code, a model, both, or a record."""
