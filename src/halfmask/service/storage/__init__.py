"""Storage of the service: one abstract store, and one SQL store for three kinds of database."""
