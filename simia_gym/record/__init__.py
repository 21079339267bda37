"""What is written down about an episode, and how it is read again."""
