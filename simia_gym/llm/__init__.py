"""Asking language models: one path for simulator, user, judge and policy, to any OpenAI-compatible endpoint."""
