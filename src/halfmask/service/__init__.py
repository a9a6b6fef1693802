"""The live service: takes masked reports, publishes aggregates with error bars, books rewards. It gets no raw data."""
