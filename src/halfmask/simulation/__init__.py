"""Simulation: agents with their own data and wishes, against a live service: producers in crowds, and a consumer."""
