"""A local model by token ids: what it is shown, and what its ids mean."""
