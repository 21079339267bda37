"""The folder, processes and numbers of a running training."""
