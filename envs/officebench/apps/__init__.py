"""The apps of the office, a class of tools each."""
