"""What holds in every domain: a domain is tested by being registered; ``table.py`` says what is its own."""
