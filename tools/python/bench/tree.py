"""Makes the modules of tools/python importable; import it before packages and cernita."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
