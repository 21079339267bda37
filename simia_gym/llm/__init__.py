"""Requests to language models: simulator, user, judge and policy share one client for OpenAI-compatible endpoints."""
