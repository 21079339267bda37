"""From settings to episodes."""
