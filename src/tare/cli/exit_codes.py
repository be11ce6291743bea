"""Exit codes that several commands have; `tare.cli.main` names all."""

REGRESSION = 3
