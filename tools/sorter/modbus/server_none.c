/* In a build without libmodbus. */
#include <errno.h>

#include "tools/sorter/modbus/server.h"

bool crn_modbus_is_built(void)
{
    return false;
}

int crn_modbus_server_open(const crn_modbus_plan *plan, crn_modbus_server **ret_server,
                           crn_error *error)
{
    (void)ret_server;
    return crn_error_set(error, -ENOTSUP, "%s: this program was built without libmodbus",
                         plan->address);
}

void crn_modbus_server_close(crn_modbus_server **server)
{
    (void)server;
}

const char *crn_modbus_server_address(const crn_modbus_server *server)
{
    (void)server;
    return "";
}

void crn_modbus_server_add(crn_modbus_server *server, const crn_decision *decision, int64_t now_ns)
{
    (void)server;
    (void)decision;
    (void)now_ns;
}

int crn_modbus_server_polls(const crn_modbus_server *server,
                            zmq_pollitem_t items[CRN_MODBUS_POLLS_MAX])
{
    (void)server;
    (void)items;
    return 0;
}

void crn_modbus_server_serve(crn_modbus_server *server, crn_line_state state, int64_t now_ns)
{
    (void)server;
    (void)state;
    (void)now_ns;
}

crn_modbus_stats crn_modbus_server_get_stats(const crn_modbus_server *server)
{
    (void)server;
    return (crn_modbus_stats){.clients = 0};
}
