"""The protocol over HTTP: the table of routes, the reading of requests, and the answers to errors."""
