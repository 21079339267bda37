"""AgentBench's own OS tasks by path: they are read, begun, and judged by their published checks."""
