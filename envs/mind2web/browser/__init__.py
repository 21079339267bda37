"""A small browser: a tree of elements, its HTML, and what clicks, choices and typing do on a page."""
