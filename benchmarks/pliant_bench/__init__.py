"""Benchmarks of pliant: speed and accuracy against the tables of papers and against other libraries; scaling.

Every module measures and returns tables (`pliant.report.tables`); the command prints them, and the page of
`pliant.report.tables_page` shows them.
"""
