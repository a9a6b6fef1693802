"""What a setting really protects: guarantees, attacks, and the limit of any noise."""
