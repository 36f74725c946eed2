"""The back office of a consulting firm: time, expenses, staffing, invoices, leave."""
