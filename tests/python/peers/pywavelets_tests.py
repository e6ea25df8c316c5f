"""pytest -p pywavelets_tests FILE…: PyWavelets' own tests of two-dimensional transforms, run against cernita.wavelets.

The files are test_multidim.py and test_multilevel.py of PyWavelets' source (fetch_pywavelets_tests); they are not
changed. Of their tests those run that use one of the functions.
"""
import pytest
import pywt

import peer_tests
from cernita import wavelets

_WAVELETS = "other wavelets than haar"
_TWICE = "the same axis twice"
REASONS = {"test_idwt2_none_coeffs": _TWICE, "test_idwt2_axes": _TWICE, "test_per_axis_wavelets_and_modes": _WAVELETS,
           "test_waverec2_all_wavelets_modes": _WAVELETS, "test_wavedecn_coeff_reshape_even": _WAVELETS,
           "test_wavedecn_coeff_ravel": _WAVELETS, "test_wavedecn_coeff_ravel_zero_level": _WAVELETS,
           "test_default_level": _WAVELETS}

peer_tests.substitute(pywt, wavelets, wavelets.__all__)


def pytest_collection_modifyitems(config, items):
    peer_tests.select(config, items, REASONS)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    peer_tests.finish(session)
