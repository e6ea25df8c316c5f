"""What cernita-report is made of. Standard library only."""


class Failure(Exception):
    """One line: what, where, and the cure."""
