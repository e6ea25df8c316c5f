/* Who may change something over HTTP: each header, each address, with and without a token. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "src/monitor/http/guard.h"
#include "tests/support/cmocka_prelude.h"

#define TOKEN "abcdefgh12345678"

static crn_config config;

/* A request of a page at http://localhost:9464 from that address, but for what it changes. */
typedef struct guard_case {
    const char *address, *host, *origin, *site, *token;
    bool forwarded;
    crn_http_refusal without, with; /* a token in the line's file */
    const char *name;
} guard_case;

#define FOREIGN CRN_HTTP_FOREIGN_PAGE, CRN_HTTP_FOREIGN_PAGE
#define ALLOWED CRN_HTTP_ALLOWED, CRN_HTTP_ALLOWED
#define TOLD    CRN_HTTP_NO_TOKEN, CRN_HTTP_ALLOWED
#define WANTED  CRN_HTTP_NO_TOKEN, CRN_HTTP_WRONG_TOKEN

static const guard_case cases[] = {
    /* From this machine: a program, its page, the same by TLS. */
    {"127.0.0.1", "localhost:9464", NULL, NULL, NULL, false, ALLOWED, "local"},
    {"127.0.0.1", NULL, NULL, NULL, NULL, false, ALLOWED, "local"},
    {"127.3.4.5", "127.3.4.5:9464", NULL, NULL, NULL, false, ALLOWED, "local"},
    {"::1", "[::1]:9464", NULL, NULL, NULL, false, ALLOWED, "local"},
    {"::ffff:127.0.0.1", "localhost", NULL, NULL, NULL, false, ALLOWED, "local"},
    {"127.0.0.1", "localhost:9464", "http://localhost:9464", "same-origin", NULL, false, ALLOWED,
     "local"},
    {"127.0.0.1", "LOCALHOST:9464", "HTTP://localhost:9464", "none", NULL, false, ALLOWED, "local"},
    {"127.0.0.1", "localhost:9464", NULL, NULL, "wrong", false, ALLOWED, "local"},

    /* Pages of others, in a browser on this machine or elsewhere, also with the token. */
    {"127.0.0.1", "localhost:9464", "http://evil.example", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "http://localhost:8080", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "http://localhost", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "http://localhost:94640", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "http://127.0.0.1:9464", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "null", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "localhost:9464", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "file://localhost:9464", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", NULL, "http://", NULL, NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", NULL, "cross-site", NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", NULL, "same-site", NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", NULL, "", NULL, false, FOREIGN, "local"},
    {"127.0.0.1", "localhost:9464", "http://localhost:9464", "cross-site", TOKEN, false, FOREIGN,
     "local"},
    {"10.0.0.7", "10.0.0.2:9464", "null", NULL, TOKEN, false, FOREIGN, "10.0.0.7"},

    /* From elsewhere. */
    {"10.0.0.7", "10.0.0.2:9464", NULL, NULL, NULL, false, WANTED, "10.0.0.7"},
    {"10.0.0.7", "10.0.0.2:9464", NULL, NULL, "", false, WANTED, "10.0.0.7"},
    {"10.0.0.7", "10.0.0.2:9464", NULL, NULL, "abcdefgh12345679", false, WANTED, "10.0.0.7"},
    {"10.0.0.7", "10.0.0.2:9464", NULL, NULL, "abcdefgh1234567", false, WANTED, "10.0.0.7"},
    {"10.0.0.7", "10.0.0.2:9464", NULL, NULL, TOKEN "9", false, WANTED, "10.0.0.7"},
    {"10.0.0.7", "10.0.0.2:9464", NULL, NULL, TOKEN, false, TOLD, "10.0.0.7"},
    {"10.0.0.7", "localhost:9464", NULL, NULL, NULL, false, WANTED, "10.0.0.7"},
    {"128.0.0.1", "localhost:9464", NULL, NULL, NULL, false, WANTED, "128.0.0.1"},
    {"::ffff:10.0.0.7", "10.0.0.2", NULL, NULL, TOKEN, false, TOLD, "10.0.0.7"},
    {"fe80::7", "[fe80::2]", NULL, NULL, TOKEN, false, TOLD, "fe80::7"},
    {"::7f00:1", "[::1]", NULL, NULL, NULL, false, WANTED, "::127.0.0.1"},
    {NULL, "localhost:9464", NULL, NULL, NULL, false, WANTED, "?"},

    /* A proxy on this machine: it says so, or calls the line by a name of monitor.hosts. */
    {"127.0.0.1", "localhost:9464", NULL, NULL, NULL, true, WANTED, "127.0.0.1"},
    {"::1", "localhost:9464", NULL, NULL, TOKEN, true, TOLD, "::1"},
    {"127.0.0.1", "192.168.1.5:9464", NULL, NULL, NULL, false, WANTED, "127.0.0.1"},
    {"127.0.0.1", "192.168.1.5", "http://192.168.1.5", NULL, NULL, false, WANTED, "127.0.0.1"},
    {"127.0.0.1", "0.0.0.0:9464", NULL, NULL, NULL, false, WANTED, "127.0.0.1"},
    {"::1", "[fd00::5]:9464", NULL, NULL, NULL, false, WANTED, "::1"},
    {"::1", "[::ffff:192.168.1.5]", NULL, NULL, NULL, false, WANTED, "::1"},
    {"::1", "[::ffff:127.0.0.1]:9464", NULL, NULL, NULL, false, ALLOWED, "local"},
    {"127.0.0.1", "line3.example.com", NULL, NULL, NULL, false, WANTED, "127.0.0.1"},
    {"127.0.0.1", "line3.example.com", "https://line3.example.com", "same-origin", TOKEN, false,
     TOLD, "127.0.0.1"},
    {"127.0.0.1", "line3.example.com", "http://localhost:9464", NULL, TOKEN, false, FOREIGN,
     "127.0.0.1"},
};

static const struct sockaddr *address_of(const char *text, struct sockaddr_storage *ret_address)
{
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret_address;
    memset(ret_address, 0, sizeof *ret_address);
    if (!text)
        return NULL;
    ret_address->ss_family = AF_INET;
    if (inet_pton(AF_INET, text, &ipv4->sin_addr) != 1) {
        ret_address->ss_family = AF_INET6;
        assert_int_equal(inet_pton(AF_INET6, text, &ipv6->sin6_addr), 1);
    }
    return (const struct sockaddr *)ret_address;
}

static void each_case_is_decided(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const guard_case *one = &cases[i];
        struct sockaddr_storage address;
        char name[CRN_HTTP_CALLER_BYTES];
        crn_http_caller caller = {.address = address_of(one->address, &address),
                                  .host = one->host,
                                  .origin = one->origin,
                                  .site = one->site,
                                  .token = one->token,
                                  .forwarded = one->forwarded};
        crn_http_refusal without = crn_http_guard(&config, "", &caller),
                         with = crn_http_guard(&config, TOKEN, &caller);
        crn_http_caller_name(&config, &caller, name);
        if (without != one->without || with != one->with || strcmp(name, one->name) != 0)
            fail_msg("case %zu: %d without a token and %d with one, by %s", i, without, with, name);
    }
}

/* A peer of a socket that is none of the internet's. */
static void another_kind_of_address_is_not_local(void **state)
{
    (void)state;
    struct sockaddr address = {.sa_family = AF_UNIX};
    crn_http_caller caller = {.address = &address, .host = "localhost"};
    assert_int_equal(crn_http_guard(&config, "", &caller), CRN_HTTP_NO_TOKEN);
}

static void a_refusal_names_the_cure(void **state)
{
    (void)state;
    assert_non_null(strstr(crn_http_refusals[CRN_HTTP_NO_TOKEN], "monitor.token_file"));
    assert_non_null(strstr(crn_http_refusals[CRN_HTTP_WRONG_TOKEN], "X-Cernita-Token"));
    for (int why = CRN_HTTP_ALLOWED + 1; why < CRN_HTTP_REFUSALS; why++)
        assert_int_equal(strcspn(crn_http_refusals[why], "\n"), strlen(crn_http_refusals[why]) - 1);
}

static int set_up(void **state)
{
    static const char yaml[] = "classes: [{name: rot, level: 0.5}]\n"
                               "chain: [contours]\n"
                               "monitor: {http: '*:9464', hosts: [line3.example.com]}\n";
    (void)state;
    return crn_config_parse("f", yaml, strlen(yaml), stderr, &config);
}

static int tear_down(void **state)
{
    (void)state;
    crn_config_done(&config);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_decided),
        cmocka_unit_test(another_kind_of_address_is_not_local),
        cmocka_unit_test(a_refusal_names_the_cure),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
