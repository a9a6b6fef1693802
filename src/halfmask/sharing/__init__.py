"""People really sharing: what runs on a producer's device."""
