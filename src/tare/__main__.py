"""`python -m tare`."""

from tare.cli.main import main

main()
