"""What outlives a kill: rows that change through one journal, leases and epochs, sealed columns, wake-ups."""
