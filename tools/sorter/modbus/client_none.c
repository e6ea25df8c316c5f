/* In a build without libmodbus: --check refuses outputs.modbus_client, so that there is none. */
#include <errno.h>

#include "stages/base/clock.h"
#include "tools/sorter/modbus/client.h"

int crn_modbus_client_open(const crn_modbus_client_plan *plan, crn_modbus_client **ret_client,
                           crn_error *error)
{
    (void)ret_client;
    return crn_error_set(error, -ENOTSUP, "%s: this program was built without libmodbus",
                         plan->address);
}

void crn_modbus_client_close(crn_modbus_client **client)
{
    (void)client;
}

bool crn_modbus_client_connect(crn_modbus_client *client, int64_t now_ns)
{
    (void)client;
    (void)now_ns;
    return false;
}

int64_t crn_modbus_client_next_ns(const crn_modbus_client *client)
{
    (void)client;
    return CRN_NEVER_NS;
}

int crn_modbus_client_write_coil(crn_modbus_client *client, int64_t address, bool on)
{
    (void)client;
    (void)address;
    (void)on;
    return -ENOTCONN;
}

int crn_modbus_client_write(crn_modbus_client *client, int64_t address, int32_t count,
                            const uint16_t *values)
{
    (void)client;
    (void)address;
    (void)count;
    (void)values;
    return -ENOTCONN;
}

int crn_modbus_client_read(crn_modbus_client *client, bool inputs, int64_t address, int32_t count,
                           uint16_t *ret_values)
{
    (void)client;
    (void)inputs;
    (void)address;
    (void)count;
    (void)ret_values;
    return -ENOTCONN;
}

int crn_modbus_client_read_bits(crn_modbus_client *client, int64_t address, int32_t count,
                                uint8_t *ret_bits)
{
    (void)client;
    (void)address;
    (void)count;
    (void)ret_bits;
    return -ENOTCONN;
}

const crn_modbus_client_stats *crn_modbus_client_get_stats(const crn_modbus_client *client)
{
    static const crn_modbus_client_stats none;
    (void)client;
    return &none;
}
