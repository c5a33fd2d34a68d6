"""`python -m hpplan`."""

from hpplan.cli.main import main

main()
