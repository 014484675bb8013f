"""`pliant play`: a running simulation in a page, and a hand that reaches into it."""
