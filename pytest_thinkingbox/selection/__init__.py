"""From probes to a training pool: what is kept, how it is split, and that nothing of it is evaluated."""
