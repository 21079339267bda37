"""Learning from random weights: supervised training, then GRPO, evaluated on unseen tasks."""
