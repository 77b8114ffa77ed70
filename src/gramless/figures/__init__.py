"""What a learned kernel looks at and what matters to a model, as tables and as pictures."""
