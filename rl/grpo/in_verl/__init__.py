"""What runs inside verl: classes and functions that it loads by name."""
