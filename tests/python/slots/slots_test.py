"""What tests of a Line with slots share: a folder, a daemon's side, a Line."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from line_daemon import CLASSES, PATIENCE_S, PackageTest

import cernita
from slots_daemon import SlotsDaemon

SHAPE = (29, 41, 3)
BYTES = 29 * 41 * 3 * 4
VIEW_BYTES = -(-BYTES // 64) * 64 + 29 * 41
SLOT_BYTES = 16384


class SlotsTest(PackageTest):
    def setUp(self):
        self.path = self.folder() + "/slots"

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="cernita-slots-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def daemon(self, **given):
        daemon = SlotsDaemon(self.path, **{"slot_bytes": SLOT_BYTES, **given})
        self.addCleanup(daemon.__exit__)
        return daemon

    def line(self, **given):
        line = cernita.Line(slots=self.path, **{"classes": CLASSES, "shape": SHAPE, "views": 4, "patience_s": 0, **given})
        self.addCleanup(line.close, 0)
        return line

    def connect(self, **given):
        daemon = self.daemon()
        line = self.line(**given)
        self.assertTrue(line.wait(PATIENCE_S))
        return daemon, line
