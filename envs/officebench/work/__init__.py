"""Original tasks: their data, their sentences, and how each kind is done."""
