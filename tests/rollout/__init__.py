"""Tests of the rollout pool."""
