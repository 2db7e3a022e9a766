"""What calls cost and may cost: prices, usage, limits, reservations, the ledger."""
