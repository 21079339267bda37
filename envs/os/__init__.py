"""A machine's command line, AgentBench's OS domain: the agent runs scripts of bash in a sandbox."""
