"""The one reader of English: what a message says, for user and reward alike."""
