"""`pliant play`: a running simulation in a web page, with a drag constraint under the mouse."""
