"""cernita-top in tmux, as a person has it: at two sizes, resized, over a lost connection.

    check_top.py BIN CONFIG HOST:PORT      the daemon that is started with CONFIG has its pages there

Exits 0, or 1 with what was expected and the screen.
"""
import os
import pathlib
import subprocess
import sys
import time

PATIENCE_S = 60


class Terminal:
    def __init__(self, folder, command, columns, rows):
        self.tmux = ["tmux", "-f", "/dev/null", "-S", str(pathlib.Path(folder) / "tmux")]
        environment = os.environ | {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        subprocess.run([*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows), command], check=True,
                       env=environment)

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], capture_output=True, text=True).stdout

    def screen(self):
        return self.run("capture-pane", "-p").split("\n")

    def expect(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while True:
            lines = self.screen()
            if condition(lines):
                return lines
            if time.monotonic() > end:
                sys.exit(f"expected {what}, but the screen is:\n" + "\n".join(lines))
            time.sleep(0.1)

    def expect_text(self, text):
        return self.expect(f"'{text}'", lambda lines: any(text in line for line in lines))


def fits(lines, columns, rows):
    """The foot is in the last row, and no row is wider than the screen."""
    used = [line for line in lines if line]
    return len(used) > 0 and "q quit  ? help" in lines[rows - 1] and all(len(line) <= columns for line in used)


def is_connected(lines):
    return any("fruits/s" in line for line in lines) and not any("NO CONNECTION" in line for line in lines)


def main():
    programs, config, address = sys.argv[1:]
    folder = pathlib.Path(config).parent
    daemon = subprocess.Popen([f"{programs}/cernitad", "--config", config], stderr=subprocess.DEVNULL)
    terminal = Terminal(folder, f"{programs}/cernita-top {address}", 80, 24)
    try:
        terminal.expect("a connection", is_connected)
        terminal.expect("80 x 24", lambda lines: fits(lines, 80, 24))
        terminal.run("resize-window", "-x", "200", "-y", "60")
        terminal.expect("200 x 60", lambda lines: fits(lines, 200, 60))
        terminal.run("send-keys", "?")
        terminal.expect_text("scroll the lanes")
        terminal.run("send-keys", "?")
        terminal.run("resize-window", "-x", "80", "-y", "24")
        terminal.expect("80 x 24 again", lambda lines: fits(lines, 80, 24))
        daemon.terminate()
        daemon.wait()
        terminal.expect_text("NO CONNECTION")
        terminal.expect_text("fruits/s") # the last figures stay
        daemon = subprocess.Popen([f"{programs}/cernitad", "--config", config], stderr=subprocess.DEVNULL)
        terminal.expect("a connection", is_connected)
        terminal.run("send-keys", "q")
        end = time.monotonic() + PATIENCE_S
        while terminal.run("list-sessions"):
            if time.monotonic() > end:
                sys.exit("q does not end it")
            time.sleep(0.1)
    finally:
        subprocess.run([*terminal.tmux, "kill-server"], stderr=subprocess.DEVNULL)
        daemon.terminate()
        daemon.wait()


main()
