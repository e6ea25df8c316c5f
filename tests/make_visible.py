"""make_visible.py OBJECT: makes the hidden symbols of an object file visible, in place.

libcernita hides what is not its interface, and its tests look behind that: the objects are the same, and only the
shared library of the tests is linked from visible ones. ELF of 64 bits, little-endian; binutils have no tool for it
in Debian 12 (llvm-objcopy has one since LLVM 20).
"""
import struct
import sys

SYMBOL_TABLE, SYMBOL_BYTES, AT_OTHER, VISIBILITY = 2, 24, 5, 3

with open(sys.argv[1], "r+b") as file:
    elf = bytearray(file.read())
    assert elf[:6] == b"\x7fELF\x02\x01", f"{sys.argv[1]} is not an ELF file of 64 bits, little-endian"
    sections_at, = struct.unpack_from("<Q", elf, 0x28)
    section_bytes, sections = struct.unpack_from("<HH", elf, 0x3A)
    if sections == 0: # more than 65,279: the first section has the number
        sections, = struct.unpack_from("<Q", elf, sections_at + 0x20)
    for section in range(sections_at, sections_at + sections * section_bytes, section_bytes):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", elf, section + 4)
        if kind == SYMBOL_TABLE:
            for symbol in range(offset, offset + size, SYMBOL_BYTES):
                elf[symbol + AT_OTHER] &= ~VISIBILITY & 0xFF
    file.seek(0)
    file.write(elf)
