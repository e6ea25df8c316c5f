"""Names the Debian packages that a script lacks, in one line instead of a traceback."""
import importlib.util
import os
import sys

_PACKAGES = {
    "contourpy": "python3-contourpy",
    "cv2": "python3-opencv",
    "matplotlib": "python3-matplotlib",
    "numpy": "python3-numpy",
    "pywt": "python3-pywt",
    "scipy": "python3-scipy",
    "silx": "python3-silx",
    "skimage": "python3-skimage",
}


def need(*modules):
    """To be called before they are imported: ends the script with status 1 where one is missing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {sys.executable} has no module "
                 f"{', '.join(map(repr, missing))}: install Debian's "
                 f"{' '.join(_PACKAGES[module] for module in missing)} (tools/setup does), and start "
                 "it with /usr/bin/python3")
