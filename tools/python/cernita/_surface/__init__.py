"""The views of a rolling fruit as one surface."""
