"""verl plug-in: training on CPU, and further rollout engines."""
