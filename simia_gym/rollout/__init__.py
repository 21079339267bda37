"""Rollouts: play many episodes from a queue, write a resumable record, and verify records by replay."""
