"""Small policies from nothing: a tokenizer and a model with random weights."""
