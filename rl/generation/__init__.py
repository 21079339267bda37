"""Generation with Hugging Face models: token in, token out."""
