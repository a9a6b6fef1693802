"""The figures of a report to look into: plotly specifications, as plain data, of what the drawn figures draw."""
