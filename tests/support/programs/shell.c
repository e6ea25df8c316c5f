#include "tests/support/programs/shell.h"

#include <stdio.h>
#include <sys/wait.h>

#include "tests/support/cmocka_prelude.h"

int crn_test_shell(const char *command, char *ret_output, size_t size)
{
    FILE *out = popen(command, "r");
    assert_non_null(out);
    ret_output[fread(ret_output, 1, size - 1, out)] = '\0';
    while (fgetc(out) != EOF)
        continue; /* else it would end by SIGPIPE */
    int status = pclose(out);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}
