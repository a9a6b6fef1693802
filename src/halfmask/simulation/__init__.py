"""Simulation: producers and a consumer act as agents, each with its own data and wishes, against a live service."""
