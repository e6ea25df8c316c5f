/*
 * Who may use a NATS server (Debian: nats-server; skipped where it is not installed), and what
 * cernita-archive tells of settings that cannot be used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/nats/published.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/shell.h"

#ifdef CRN_HAS_NATS

static void a_password_is_needed_and_never_printed(void **state)
{
    (void)state;
    char with_password[160];
    published_start("authorization { user: line, password: pl4in }");
    published_write(10);
    assert_int_equal(published_run(logged_folder, published_url, ""), 1);
    published_expect_said("the server refuses this user: give --nats-creds, or USER:PASSWORD@");
    for (int i = 0; i < 2; i++) {
        snprintf(with_password, sizeof with_password,
                 "nats://line:%s@127.0.0.1:%d/" CRN_PUBLISHED_STREAM, i ? "pl4in" : "wr0ng",
                 published_server.port);
        assert_int_equal(published_run(logged_folder, with_password, ""), i ? 0 : 1);
        assert_null(strstr(published_output, i ? "pl4in" : "wr0ng"));
    }
    assert_int_equal(published_run(with_password, archived_path, ""), 0);
    published_expect_said("10 verdicts archived");
    assert_true(archived_ask("SELECT COUNT(*) FROM sources WHERE source LIKE '%pl4in%'") == 0);
    nats_server_kill(&published_server);
}

/* An authority, another one, and certificates of the first for localhost and for elsewhere. */
static void make_certificates(void)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && ( set -e\n"
             "new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
             "$new -x509 -days 2 -keyout ca.key -out ca.pem -subj /CN=plant\n"
             "$new -x509 -days 2 -keyout other.key -out other.pem -subj /CN=other\n"
             "for name in localhost elsewhere; do\n"
             "  $new -keyout $name.key -out $name.csr -subj /CN=$name\n"
             "  echo subjectAltName=DNS:$name >names\n"
             "  openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
             "-extfile names -out $name.pem\n"
             "done ) 2>&1",
             logged_folder);
    if (crn_test_shell(command, published_output, sizeof published_output) != 0)
        fail_msg("%s", published_output);
}

static void start_as(const char *name)
{
    static char settings[512];
    snprintf(settings, sizeof settings, "tls { cert_file: \"%s/%s.pem\", key_file: \"%s/%s.key\" }",
             logged_folder, name, logged_folder, name);
    published_start(settings);
}

static void the_server_is_known_by_its_certificate(void **state)
{
    (void)state;
    char authority[128], other[128];
    if (!nats_server_is_installed() || system("openssl version >/dev/null 2>&1") != 0)
        skip();
    make_certificates();
    snprintf(authority, sizeof authority, "--nats-ca %s/ca.pem", logged_folder);
    snprintf(other, sizeof other, "--nats-ca %s/other.pem", logged_folder);
    published_write(10);
    start_as("localhost");
    snprintf(published_url, sizeof published_url, "tls://127.0.0.1:%d/" CRN_PUBLISHED_STREAM,
             published_server.port);
    assert_int_equal(published_run(logged_folder, published_url, authority), 1);
    published_expect_said("TLS fails: ");
    snprintf(published_url, sizeof published_url, "tls://localhost:%d/" CRN_PUBLISHED_STREAM,
             published_server.port);
    assert_int_equal(published_run(logged_folder, published_url, other), 1);
    published_expect_said("TLS fails: name the certificate of the server's issuer with --nats-ca");
    if (published_run(logged_folder, published_url, authority) != 0)
        fail_msg("%s", published_output);
    nats_server_kill(&published_server);
    start_as("elsewhere");
    assert_int_equal(published_run(logged_folder, published_url, authority), 1);
    published_expect_said("TLS fails: ");
    nats_server_kill(&published_server);
}

static void unusable_settings_are_told(void **state)
{
    (void)state;
    published_write(1);
    const struct {
        const char *to, *options, *wanted;
        int status;
    } cases[] = {
        {"nats://127.0.0.1/FLE.ET", "", "is not nats://HOST[:PORT]/STREAM", 1},
        {"nats://127.0.0.1/", "", "is not nats://HOST[:PORT]/STREAM", 1},
        {"nats://", "", "is not nats://HOST[:PORT]/STREAM", 1},
        {"nats:///FLEET", "", "is not nats://HOST[:PORT]/STREAM", 1},
        {"nats://127.0.0.1/FLEET", "--state /tmp", "--state is not published to NATS", 2},
        {"nats://127.0.0.1/FLEET", "--nats-creds /nowhere", "/nowhere: No such file", 1},
        {"nats://127.0.0.1/FLEET", "--nats-cert /nowhere", "are given together", 1},
        {"tls://localhost/FLEET", "--nats-ca /nowhere", "/nowhere: cannot be used as --nats-ca", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(published_run(logged_folder, cases[i].to, cases[i].options),
                         cases[i].status);
        published_expect_said(cases[i].wanted);
    }
    assert_int_equal(published_run(published_url, archived_path, "--sorter /tmp"), 2);
    published_expect_said("give --sorter where the line is");
    assert_int_equal(published_run(published_url, published_url, ""), 2);
    published_expect_said("--to nats:// takes a log: name its folder with --from");
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
#define TEST(name) cmocka_unit_test_setup_teardown(name, published_setup, logged_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_password_is_needed_and_never_printed),
        TEST(the_server_is_known_by_its_certificate),
        TEST(unusable_settings_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_libnats_tells_what_it_needs(void **state)
{
    (void)state;
    assert_int_equal(published_run(logged_folder, "nats://127.0.0.1/FLEET", ""), 1);
    published_expect_said("need libnats, and this program was built without it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_build_without_libnats_tells_what_it_needs,
                                        published_setup, logged_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
