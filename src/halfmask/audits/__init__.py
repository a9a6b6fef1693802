"""Audits: what a setting really protects, by guarantees, attacks, and the best score that any noise can have."""
