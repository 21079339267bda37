"""Airline: customers who book, change and cancel flights."""
