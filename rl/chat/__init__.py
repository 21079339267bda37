"""Conversations as tokens: the chat template, trajectories, and episodes played in tokens."""
