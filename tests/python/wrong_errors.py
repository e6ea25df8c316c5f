"""What the tests of errors share: each with its expected words."""


def wrong_errors(cases):
    """Of {name: (call, error, how its text begins)}, a line for each that raises none, or another."""
    wrong = []
    for name, (call, error, begins) in cases.items():
        raised = None
        try:
            call()
        except Exception as fault:
            raised = fault
        if type(raised) is not error or not str(raised).startswith(begins):
            wrong.append(f"{name}: {repr(raised) if raised else 'no error'}")
    return wrong
