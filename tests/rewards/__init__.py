"""Tests of the rewards."""
