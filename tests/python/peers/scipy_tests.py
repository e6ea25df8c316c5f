"""pytest -p scipy_tests FILE: scipy's own tests of grey morphology, run against cernita.ndimage instead.

FILE is scipy/ndimage/tests/test_morphology.py as scipy installs it; it is not changed. Of its tests those run that use
one of the functions.
"""
import pytest
import scipy.ndimage

import peer_tests
from cernita import ndimage

_WRAPS = "bool with a structure is refused: scipy's sums wrap around within bytes"
REASONS = {"test_white_tophat03": _WRAPS, "test_white_tophat04": _WRAPS, "test_black_tophat03": _WRAPS,
           "test_black_tophat04": _WRAPS}

peer_tests.substitute(scipy.ndimage, ndimage, ndimage.__all__)


def pytest_collection_modifyitems(config, items):
    peer_tests.select(config, items, REASONS)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    peer_tests.finish(session)
