"""Other programs' ways of asking for keywords, one file each: `python -m gramless.pictures.connectors.NAME --help`."""
