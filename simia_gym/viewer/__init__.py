"""Records as pages to look at: a list of episodes, and each episode with its changes, questions and verdict.

Everything from a record is data. Templates escape it, no page names anything outside of itself, and the content
security policy of a page allows the page's own script and nothing else.
"""
