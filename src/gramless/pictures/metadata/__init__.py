"""What picture files and their sidecars say of keywords: read from every field, written so that it can be undone."""
