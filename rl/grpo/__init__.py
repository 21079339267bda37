"""GRPO with verl and Ray."""
