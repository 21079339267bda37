<<<<<<< HEAD
"""The domain ``os``: a shell on a file tree."""
=======
"""A machine's command line, AgentBench's OS domain: the agent runs scripts of bash in a sandbox."""
>>>>>>> main
