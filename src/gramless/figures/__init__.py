"""What a learned kernel looks at, as tables and as pictures."""
