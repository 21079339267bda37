"""HTTP transport for model endpoints: client, failures, concurrency limits."""
