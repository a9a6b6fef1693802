"""Split sums: totals of which each of two services holds one share, and neither can look into a report."""

from halfmask.service.split.batch_verification import BatchVerifier, Prepared, summed_numbers, valid_reports

__all__ = ["BatchVerifier", "Prepared", "summed_numbers", "valid_reports"]
