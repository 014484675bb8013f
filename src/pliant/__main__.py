"""`python -m pliant`, for where the script is not on the PATH."""

from .cli import main

main()
