/*
 * cernita-sorter before a plant in real time, a process of its own with the PLC by pymodbus: each
 * fruit is counted. Whether it falls into its outlet depends on the machine's load, and is not
 * expected here: check_plant.py has the options for that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"

static void need(const char *modules)
{
    char command[128];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import %s' 2>/dev/null", modules);
    if (system(command) != 0)
        skip(); /* Debian: python3-pymodbus, python3-serial-asyncio, python3-zmq,
                 * python3-msgpack, python3-paho-mqtt
                 */
}

static void run_plant(const char *options)
{
    char command[512], text[1 << 15];
    snprintf(command, sizeof command,
             "/usr/bin/python3 " CRN_TEST_DATA "/plant/check_plant.py --bin " CRN_BIN
             " --counts-only %s 2>&1",
             options);
    int status = crn_test_shell(command, text, sizeof text);
    if (status != 0)
        fail_msg("exit status %d: %s", status, text);
}

static void fruits_on_a_belt_are_counted(void **state)
{
    (void)state;
    need("pymodbus.server, zmq, msgpack");
    run_plant("");
}

static void so_they_are_by_a_broker(void **state)
{
    (void)state;
    need("pymodbus.server, zmq, msgpack, paho.mqtt.client");
    if (system("test -x /usr/sbin/mosquitto") != 0)
        skip(); /* Debian: mosquitto */
    run_plant("--mqtt");
}

#ifdef CRN_HAS_MODBUS
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fruits_on_a_belt_are_counted),
#ifdef CRN_HAS_MQTT
        cmocka_unit_test(so_they_are_by_a_broker),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    (void)fruits_on_a_belt_are_counted;
    (void)so_they_are_by_a_broker;
    print_message("[  SKIPPED ] sorter_plant: built without libmodbus\n");
    return 0;
}
#endif
