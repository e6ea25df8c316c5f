"""pytest -p skimage_tests FILE: scikit-image's own tests, run against cernita.find_contours instead.

FILE is a test file as scikit-image installs it; it is not changed. The run fails if the function was never called.
"""
import functools

import pytest
import skimage.measure

import cernita

_calls = 0


@functools.wraps(cernita.find_contours)
def _find_contours(*arguments, **named):
    global _calls
    _calls += 1
    return cernita.find_contours(*arguments, **named)


skimage.measure.find_contours = _find_contours


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    print(f"\n{_calls} calls of {cernita.__file__}")
    if not _calls:
        session.exitstatus = 1
