"""What a setting really protects: guarantees, attacks, and the best score that any noise can have."""
