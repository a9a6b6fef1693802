"""halfmask's own mechanisms, one file each with all that is known of it. A file that stands here is found."""
