"""Stops a thread of another process, as a hang would."""
import ctypes
import os

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000 # waitpid: also threads that are not the main one


def hold_for_good(thread):
    """Stops one thread of another process by ptrace until it is killed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes, libc.ptrace.restype = [ctypes.c_long] * 4, ctypes.c_long
    if libc.ptrace(PTRACE_SEIZE, thread, 0, 0) != 0 or libc.ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace of thread {thread}")
    os.waitpid(thread, WALL)
    os.waitpid(thread, WALL) # its end: a process is not gone before its tracer knows
