"""`python -m pliant`, if the script is not on the PATH."""

from .cli import main

main()
