"""A line seen from outside: views sent to it, its verdicts, what it recorded and logged. Without the library."""
from . import files, line, recording, verdict, verdict_log, verdicts
from .files import *
from .line import *
from .recording import *
from .verdict import *
from .verdict_log import *
from .verdicts import *

__all__: list[str] = []
__all__ += files.__all__
__all__ += line.__all__
__all__ += recording.__all__
__all__ += verdict.__all__
__all__ += verdict_log.__all__
__all__ += verdicts.__all__
