/* The address of monitor.http, and the host names that requests may use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/http/address.h"
#include "tests/support/cmocka_prelude.h"

static void a_free_port_is_reported(void **state)
{
    (void)state;
    crn_error error;
    int first, second;
    char bound[CRN_HTTP_ADDRESS_BYTES], again[CRN_HTTP_ADDRESS_BYTES];
    assert_int_equal(crn_http_listen("127.0.0.1:0", &first, bound, &error), 0);
    assert_memory_equal(bound, "127.0.0.1:", 10);
    assert_true(atoi(bound + 10) > 0);
    assert_int_equal(crn_http_listen(bound, &second, again, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, bound));
    assert_non_null(strstr(error.text, "in use"));
    assert_int_equal(crn_http_try(bound, &error), -EADDRINUSE);
    close(first);
    assert_int_equal(crn_http_try(bound, &error), 0);
    assert_int_equal(crn_http_listen(bound, &first, again, &error), 0);
    assert_string_equal(bound, again);
    close(first);
}

/* The ports behind may be another program's. */
static void of_a_port_in_use_the_next_free_one_is_taken(void **state)
{
    (void)state;
    crn_error error;
    int first, second = -1, r = -EADDRINUSE;
    char bound[CRN_HTTP_ADDRESS_BYTES], next[CRN_HTTP_ADDRESS_BYTES];
    for (int i = 0; i < 50 && r == -EADDRINUSE; i++) { /* all of them, in bad luck */
        assert_int_equal(crn_http_listen("127.0.0.1:0", &first, bound, &error), 0);
        r = crn_http_listen_near(bound, &second, next, &error);
        close(first);
    }
    assert_int_equal(r, 0);
    close(second);
    int ahead = atoi(strrchr(next, ':') + 1) - atoi(strrchr(bound, ':') + 1);
    assert_in_range(ahead, 1, CRN_HTTP_PORTS_TRIED - 1);
}

static void only_a_port_in_use_has_a_next_one(void **state)
{
    (void)state;
    crn_error error;
    int made;
    char bound[CRN_HTTP_ADDRESS_BYTES];
    assert_int_equal(crn_http_listen_near("192.0.2.1:80", &made, bound, &error), -EADDRNOTAVAIL);
    assert_non_null(strstr(error.text, "192.0.2.1:80"));
    assert_int_equal(crn_http_listen_near("127.0.0.1:0", &made, bound, &error), 0);
    close(made);
}

static void all_addresses_and_names_can_be_bound(void **state)
{
    (void)state;
    crn_error error;
    static const char *const good[] = {"*:0", "localhost:0", "0.0.0.0:0"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (crn_http_try(good[i], &error) != 0)
            fail_msg("%s", error.text);
}

static void a_foreign_address_cannot(void **state)
{
    (void)state;
    crn_error error;
    assert_int_equal(crn_http_try("192.0.2.1:0", &error), -EADDRNOTAVAIL);
    assert_string_equal(error.text, "cannot bind 192.0.2.1:0: this machine has no such address: "
                                    "see `ip address`, or give *:PORT");
    assert_int_equal(crn_http_try("[1:2:0", &error), -EADDRNOTAVAIL);
}

static void own_names_are_allowed(void **state)
{
    (void)state;
    char name[256] = "";
    assert_int_equal(gethostname(name, sizeof name - 8), 0);
    assert_true(crn_http_host_is_own(name, "127.0.0.1:9464", NULL));
    strcat(name, ":9464");
    static const char *const own[] = {"127.0.0.1",      "127.0.0.1:9464", "10.0.0.7:80",
                                      "[::1]:9464",     "[fe80::1]",      "localhost",
                                      "LocalHost:9464", "sorter:9464",    "SORTER"};
    assert_true(crn_http_host_is_own(name, "127.0.0.1:9464", NULL));
    assert_true(crn_http_host_is_own(NULL, "127.0.0.1:9464", NULL));
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_true(crn_http_host_is_own(own[i], "sorter:9464", NULL));
}

static void foreign_names_are_not(void **state)
{
    (void)state;
    char longest[2000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    static const char *const foreign[] = {"",
                                          "evil.example",
                                          "evil.example:9464",
                                          "127.0.0.1.evil.example",
                                          "localhost.evil",
                                          "[::1",
                                          "[evil]:9464",
                                          "127.0.0.1:80:80",
                                          "1.2.3",
                                          ":9464",
                                          "sorter2",
                                          "*:9464",
                                          "localhost ",
                                          "127.0.0.1@evil",
                                          "[]"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (crn_http_host_is_own(foreign[i], "sorter:9464", NULL))
            fail_msg("'%s' is accepted", foreign[i]);
    assert_false(crn_http_host_is_own(longest, "sorter:9464", NULL));
}

static void names_of_a_proxy_are_allowed_where_the_file_has_them(void **state)
{
    (void)state;
    static const crn_texts hosts = {2, {"line3.example.com", "sorter-3"}};
    static const char *const own[] = {"line3.example.com", "Line3.Example.com:443", "sorter-3:80",
                                      "localhost", NULL};
    static const char *const foreign[] = {"line4.example.com", "x.line3.example.com", "example.com",
                                          "line3.example.com.evil", "sorter"};
    for (size_t i = 0; own[i]; i++)
        if (!crn_http_host_is_own(own[i], "127.0.0.1:9464", &hosts))
            fail_msg("'%s' is refused", own[i]);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (crn_http_host_is_own(foreign[i], "127.0.0.1:9464", &hosts))
            fail_msg("'%s' is accepted", foreign[i]);
    assert_false(crn_http_host_is_own("line3.example.com", "127.0.0.1:9464", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_a_proxy_are_allowed_where_the_file_has_them),
        cmocka_unit_test(a_free_port_is_reported),
        cmocka_unit_test(of_a_port_in_use_the_next_free_one_is_taken),
        cmocka_unit_test(only_a_port_in_use_has_a_next_one),
        cmocka_unit_test(all_addresses_and_names_can_be_bound),
        cmocka_unit_test(a_foreign_address_cannot),
        cmocka_unit_test(own_names_are_allowed),
        cmocka_unit_test(foreign_names_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
