"""A bank in an app: a ledger in which every entry balances, cards, disputes, transfers, fees and their exceptions."""
