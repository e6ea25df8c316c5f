/* A program whose replaced calls are hidden from libzmq (CMakeLists.txt links it so): what a start
 * says then. */
#include "src/ingest/peers/calls.h"

int main(void)
{
    return crn_socket_calls_init() < 0;
}
