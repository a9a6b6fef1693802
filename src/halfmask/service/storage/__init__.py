"""Where the service keeps what it must not lose: one abstract store, one SQL store for three kinds of database."""
