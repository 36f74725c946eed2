"""The service desk of a motor insurer: policies, claims, payments, and money that comes back."""
