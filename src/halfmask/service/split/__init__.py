"""Split sums: totals of which each of two services holds one share, and neither can look into a report."""
