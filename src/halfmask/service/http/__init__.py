"""The protocol over HTTP: one table of routes, one place for bodies, one for errors."""
