"""Recipes: commands and scripts for real trainings."""
