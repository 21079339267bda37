"""Evaluation: scores with intervals, the domain checker, cost estimates, and checks against recorded benchmarks."""
