"""What customers want: rules, the words for details, what a wish comes to, and the drawing of tasks."""
