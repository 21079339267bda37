"""From a few traces to training data: seeds, prompts, simulated trajectories, and the checks that they pass."""
