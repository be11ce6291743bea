"""One trial: a site is started, seen by its oracle, measured and judged by gates."""
