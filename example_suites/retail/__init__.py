"""The customer desk of an online shop for home goods."""
