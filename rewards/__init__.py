"""How an episode becomes a number: rubrics, program checks, grades."""
