"""A line seen from outside: views sent to it, its verdicts, what it recorded and logged. Without the library."""
