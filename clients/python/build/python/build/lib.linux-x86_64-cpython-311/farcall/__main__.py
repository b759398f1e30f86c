"""`python -m farcall`: the `farcall` command."""

from ._program import main

main()
