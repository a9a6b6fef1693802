"""Useful totals from people's sensors without taking people's data."""
