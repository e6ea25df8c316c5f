#include "stages/base/bind_hint.h"

#include <errno.h>
#include <string.h>

const char *crn_bind_hint(int fault)
{
    switch (fault) {
    case EADDRINUSE:
        return "the port is in use: stop the program that has it (ss -ltnp), or give another";
    case EADDRNOTAVAIL:
        return "this machine has no such address: see `ip address`, or bind tcp://*:PORT";
    case ENODEV:
        return "neither an address nor an interface of this machine: see `ip address`";
    case EACCES:
        return "not allowed: give a port above 1023 or a path in a folder this user may write to";
    case ENOPROTOOPT:
        return "this context has no handler for keys";
    case ENAMETOOLONG:
        return "the path is too long for a socket (107 bytes): give a shorter one";
    case EINVAL:
    case EPROTONOSUPPORT:
        return "not an address to bind: write tcp://ADDRESS:PORT or ipc:///PATH";
    default:
        return strerror(fault);
    }
}
