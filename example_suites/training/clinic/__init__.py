"""The front desk of Larkmead Surgery: visits, referrals, calls back."""
