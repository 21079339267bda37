"""From random weights to a policy that acts: supervised learning, then GRPO, measured on tasks that were never seen."""
