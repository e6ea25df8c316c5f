"""What the plugins share that run a peer's own tests, unchanged, against the package: scipy_tests, pywavelets_tests."""
import functools
import inspect

import pytest

calls = {}


def substitute(module, source, names):
    """The peer's module gives the package's functions from now on, and counts their calls."""
    for name in names:
        setattr(module, name, _counted(name, getattr(source, name)))


def _counted(name, function):
    calls[name] = 0

    @functools.wraps(function)
    def call(*arguments, **named):
        calls[name] += 1
        return function(*arguments, **named)
    return call


def select(config, items, reasons):
    """Leaves the tests that mention a function; those with a reason must fail, else the reason is out of date."""
    chosen = [item for item in items if any(f".{name}" in inspect.getsource(item.function) for name in calls)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
    for item in items:
        if item.originalname in reasons:
            item.add_marker(pytest.mark.xfail(reason=reasons[item.originalname], strict=True))
    config.pluginmanager.get_plugin("terminalreporter").write_line(
        f"{len(items)} tests, {sum(item.originalname in reasons for item in items)} of them expected to fail")


def finish(session):
    """Tells the calls; a function that no test called fails the run."""
    missing = [name for name, count in calls.items() if not count]
    print("\ncalls of the package:", ", ".join(f"{name} {count}" for name, count in calls.items()))
    if missing:
        print("never called:", ", ".join(missing))
        session.exitstatus = 1
