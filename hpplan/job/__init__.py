"""`hpplan exec`: runs routes with real collectives, measures them, and verifies every row."""
