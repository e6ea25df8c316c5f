#include "tools/sorter/modbus/client.h"

#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/param.h"

#define RETRY_MIN_NS (100 * CRN_NS_PER_MS)
#define RETRY_MAX_NS (5 * CRN_NS_PER_S)

struct crn_modbus_client {
    char address[CRN_TEXT_BYTES];
    modbus_t *modbus;
    int64_t next_ns, pause_ns; /* of tries to connect */
    bool told;                 /* that it is gone */
    crn_log_gate refusals;
    crn_modbus_client_stats stats;
};

int crn_modbus_client_open(const crn_modbus_client_plan *plan, crn_modbus_client **ret_client,
                           crn_error *error)
{
    char host[CRN_TEXT_BYTES];
    crn_modbus_client *client = calloc(1, sizeof *client);
    if (!client)
        return crn_error_set(error, -ENOMEM, "outputs.modbus_client: no memory");
    snprintf(client->address, sizeof client->address, "%s", plan->address);
    snprintf(host, sizeof host, "%s", plan->address);
    char *port = strrchr(host, ':');
    *port++ = '\0';
    client->modbus = modbus_new_tcp_pi(host, port);
    client->pause_ns = RETRY_MIN_NS;
    if (!client->modbus || modbus_set_slave(client->modbus, plan->unit) < 0) {
        int r = crn_error_set(error, -EINVAL, "outputs.modbus_client.address: %s: %s",
                              plan->address, modbus_strerror(errno));
        crn_modbus_client_close(&client);
        return r;
    }
    modbus_set_response_timeout(client->modbus, (uint32_t)(plan->timeout_ms / 1000),
                                (uint32_t)(plan->timeout_ms % 1000 * 1000));
    *ret_client = client;
    return 0;
}

void crn_modbus_client_close(crn_modbus_client **client)
{
    crn_modbus_client *self = *client;
    if (!self)
        return;
    if (self->modbus) {
        modbus_close(self->modbus);
        modbus_free(self->modbus);
    }
    free(self);
    *client = NULL;
}

bool crn_modbus_client_connect(crn_modbus_client *client, int64_t now_ns)
{
    if (client->stats.connected || now_ns < client->next_ns)
        return false;
    if (modbus_connect(client->modbus) < 0) {
        if (!client->told)
            crn_log(CRN_LOG_ERROR, "outputs.modbus_client: %s: %s; trying again", client->address,
                    modbus_strerror(errno));
        client->told = true;
        client->next_ns = now_ns + client->pause_ns;
        client->pause_ns =
            client->pause_ns < RETRY_MAX_NS / 2 ? 2 * client->pause_ns : RETRY_MAX_NS;
        return false;
    }
    crn_log(CRN_LOG_INFO, "outputs.modbus_client: connected to %s", client->address);
    client->told = false;
    client->pause_ns = RETRY_MIN_NS;
    client->stats.connected = 1;
    client->stats.connects++;
    return true;
}

int64_t crn_modbus_client_next_ns(const crn_modbus_client *client)
{
    return client->stats.connected ? CRN_NEVER_NS : client->next_ns;
}

/* What became of a request. An answer that comes too late would be taken for the next request's:
 * the connection ends. */
static int finish(crn_modbus_client *client, int result, const char *request, int64_t address)
{
    client->stats.requests++;
    if (result >= 0)
        return 0;
    int fault = errno;
    if (fault > MODBUS_ENOBASE && fault <= EMBXGTAR) {
        client->stats.refused++;
        crn_log_gated(&client->refusals, crn_now_ns(), CRN_LOG_ERROR,
                      "outputs.modbus_client: %s refuses to %s %lld: %s", client->address, request,
                      (long long)address, modbus_strerror(fault));
        return -EPROTO;
    }
    crn_log(CRN_LOG_ERROR, "outputs.modbus_client: the connection to %s is lost: %s",
            client->address, modbus_strerror(fault));
    modbus_close(client->modbus);
    client->stats.connected = 0;
    client->stats.failures++;
    client->told = true;
    client->next_ns = crn_now_ns() + RETRY_MIN_NS;
    return -EIO;
}

int crn_modbus_client_write_coil(crn_modbus_client *client, int64_t address, bool on)
{
    return client->stats.connected
               ? finish(client, modbus_write_bit(client->modbus, (int)address, on), "write coil",
                        address)
               : -ENOTCONN;
}

int crn_modbus_client_write(crn_modbus_client *client, int64_t address, int32_t count,
                            const uint16_t *values)
{
    return client->stats.connected
               ? finish(client, modbus_write_registers(client->modbus, (int)address, count, values),
                        "write registers from", address)
               : -ENOTCONN;
}

int crn_modbus_client_read(crn_modbus_client *client, bool inputs, int64_t address, int32_t count,
                           uint16_t *ret_values)
{
    if (!client->stats.connected)
        return -ENOTCONN;
    int r = inputs ? modbus_read_input_registers(client->modbus, (int)address, count, ret_values)
                   : modbus_read_registers(client->modbus, (int)address, count, ret_values);
    return finish(client, r, inputs ? "read input registers from" : "read registers from", address);
}

int crn_modbus_client_read_bits(crn_modbus_client *client, int64_t address, int32_t count,
                                uint8_t *ret_bits)
{
    return client->stats.connected
               ? finish(client,
                        modbus_read_input_bits(client->modbus, (int)address, count, ret_bits),
                        "read inputs from", address)
               : -ENOTCONN;
}

const crn_modbus_client_stats *crn_modbus_client_get_stats(const crn_modbus_client *client)
{
    return &client->stats;
}
