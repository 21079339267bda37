"""What worlds that run on tau2-bench's data share: its files, the errors of its calls, its calculator."""
