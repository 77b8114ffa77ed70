"""`python -m gramless.cli`: the command line where no script is installed."""

from gramless.cli import app

app()
