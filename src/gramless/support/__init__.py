"""What everything else stands on: files, memory, progress, threads, checks of parameters and arrays."""
