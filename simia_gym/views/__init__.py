"""What a model or a page is shown of the state."""
