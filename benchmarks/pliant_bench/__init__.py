"""How fast and how right, beside others: the papers' tables as data, the peers installed, and how cost grows.

Everything here measures and returns tables (`report.tables`); the command line prints them, `report` draws them.
"""
