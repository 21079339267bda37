"""Reading replies that are no strict JSON, or not in the exact form, and that have one sound reading all the same."""
