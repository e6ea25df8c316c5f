"""The examples in the docstrings of the installed package: run_doctests.py. Prints how many there are."""
import doctest
import importlib
import pkgutil
import sys

import cernita

failed = attempted = 0
names = ["cernita"] + [module.name for module in pkgutil.walk_packages(cernita.__path__, "cernita.")]
for module in map(importlib.import_module, names):
    result = doctest.testmod(module)
    failed, attempted = failed + result.failed, attempted + result.attempted
    public = [getattr(module, name) for name in getattr(module, "__all__", [])]
    for function in public:
        if callable(function) and not (function.__doc__ or "").strip():
            print(f"{module.__name__}.{function.__name__} has no docstring")
            failed += 1
print(f"{attempted} examples in {cernita.__file__}, {failed} failed")
sys.exit(failed > 0 or attempted == 0)
