"""Example scripts and commands of trainings."""
