/* With a Python that lacks their packages (-S: standard library only), the scripts name the missing
 * package in one line. */
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"

#define PYTHON  "/usr/bin/python3 -S -B "
#define SCRIPTS CRN_TEST_DATA "/../tools/python"

static char output[4096];

static int run(const char *command)
{
    return crn_test_shell(command, output, sizeof output);
}

static void scripts_name_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        const char *script, *package;
    } cases[] = {
        {"sender.py", "python3-zmq"},
        {"subscriber.py", "python3-msgpack"},
        {"bench/contours.py", "python3-contourpy python3-scipy python3-skimage"},
        {"bench/masks.py", "python3-contourpy python3-scipy python3-silx"},
        {"bench/operators.py", "python3-opencv python3-numpy python3-pywt"},
        {"bench/migration.py", "python3-opencv python3-numpy python3-pywt python3-scipy "
                               "python3-skimage"},
        {"bench/gpu_peers.py", "python3-numpy"},
        {"gallery.py", "python3-matplotlib python3-numpy"},
        {"bench/peer_diamond_square.py", "python3-numpy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512], begin[128];
        snprintf(command, sizeof command, "exec " PYTHON SCRIPTS "/%s 2>&1", cases[i].script);
        snprintf(begin, sizeof begin, "%s: /usr/bin/python3 has no module '",
                 basename(cases[i].script));
        int status = run(command);
        if (status != 1 || strncmp(output, begin, strlen(begin)) != 0 ||
            !strstr(output, cases[i].package) ||
            strchr(output, '\n') != output + strlen(output) - 1)
            fail_msg("%s, status %d: %s", cases[i].script, status, output);
    }
}

static void the_bindings_name_what_is_missing(void **state)
{
    (void)state;
    run("cd " SCRIPTS " && exec " PYTHON "-c 'import cernita' 2>&1");
    if (!strstr(output, "\nImportError: cernita needs NumPy") || !strstr(output, "python3-numpy"))
        fail_msg("%s", output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_name_what_is_missing),
        cmocka_unit_test(the_bindings_name_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
