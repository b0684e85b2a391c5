"""`python -m greffe`, and so `torchrun … -m greffe`, is the command."""

from greffe.cli import main

main()
