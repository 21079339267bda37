"""New small policies: a tokenizer and a model with random weights."""
