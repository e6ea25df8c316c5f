/* The live page and the pages of fruits, as a browser loads them, while the line sorts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/log_messages/losses.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/peers/http.h"

#define VIEWS 2

typedef struct pages_fixture {
    line_fixture line;
    float *maps;
    unsigned char *photo;
    char address[64];
} pages_fixture;

static int set_up_in(void **state, crn_format format)
{
    pages_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    line_configure(&f->line, line_with_pages);
    f->line.config.publish.grader.format = f->line.config.publish.viewers.format = (int32_t)format;
    line_run(&f->line, NULL);
    f->maps = line_discs(40, 60, 2);
    f->photo = malloc(40 * 60);
    assert_non_null(f->photo);
    for (int i = 0; i < 40 * 60; i++)
        f->photo[i] = (unsigned char)i;
    snprintf(f->address, sizeof f->address, "%s", crn_line_http(f->line.line));
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return set_up_in(state, CRN_FORMAT_MSGPACK);
}

static int set_up_json(void **state)
{
    return set_up_in(state, CRN_FORMAT_JSON);
}

static int tear_down(void **state)
{
    pages_fixture *f = *state;
    line_stop(&f->line);
    free(f->photo);
    free(f->maps);
    free(f);
    return 0;
}

#define EPOCH 9007199254740993 /* 2^53 + 1, which JavaScript and jq round to 2^53 */

/* Sends a fruit, without its last view if `whole` is false. */
static void send_fruit(pages_fixture *f, uint64_t fruit, bool whole)
{
    for (uint16_t view = 0; view < (whole ? VIEWS : VIEWS - 1); view++) {
        crn_view_header header = line_header(&f->line, fruit, view, VIEWS, 40, 60);
        header.flags = CRN_WIRE_FLAG_INTENSITY;
        header.epoch = EPOCH;
        line_send(&f->line, header, f->maps, f->photo);
    }
}

/* The verdict of a whole fruit shows that a view before it has arrived; then its fruit is due. */
static void send_partial(pages_fixture *f, uint64_t fruit)
{
    size_t size;
    send_fruit(f, fruit, false);
    send_fruit(f, fruit + 1000, true);
    free(line_receive_bytes(&f->line, CRN_FIXTURE_PATIENCE_MS, &size));
    line_move_clock(&f->line, 60 * CRN_NS_PER_S);
}

static void judge(pages_fixture *f, uint64_t fruit, bool whole)
{
    seen_verdict verdict;
    if (whole)
        send_fruit(f, fruit, true);
    else
        send_partial(f, fruit);
    assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, whole ? "complete" : "partial");
}

static int open_events(pages_fixture *f)
{
    int stream = http_connect(f->address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    return stream;
}

/* The text behind `key` in `from`, up to `end`. */
static void cut(const char *from, const char *key, const char *end, char text[128])
{
    const char *at = strstr(from, key);
    assert_non_null(at);
    at += strlen(key);
    snprintf(text, 128, "%.*s", (int)strcspn(at, end), at);
}

/* Loads a fruit's data and its sheet of photographs; the caller frees both. */
static char *load_fruit(pages_fixture *f, const char *name, char **ret_sheet)
{
    char path[256], number[128];
    int code;
    snprintf(path, sizeof path, "/fruits/%s.json", name);
    char *data = http_get(f->address, path, &code);
    assert_int_equal(code, 200);
    cut(data, "\"photos\":", "}", number);
    snprintf(path, sizeof path, "/photos/%s", number);
    *ret_sheet = http_get(f->address, path, &code);
    assert_int_equal(code, 200);
    return data;
}

/* The live page's fruit of every second: named in the event, its data and photographs there. */
static void a_fruit_is_shown_with_its_photographs(void **state)
{
    pages_fixture *f = *state;
    char text[16384], name[128];
    int stream = open_events(f);
    assert_true(http_read_until(stream, "event: snapshot", text, sizeof text));
    char *data = NULL, *sheet = NULL;
    for (uint64_t fruit = 0; fruit < 200; fruit++) { /* photographs are asked for once a second */
        judge(f, fruit, true);
        assert_true(http_read_until(stream, "\n\n", text, sizeof text));
        if (!strstr(text, "\"shown\":[\"0/"))
            continue;
        int code;
        char path[256];
        cut(text, "\"shown\":[\"", "\"", name);
        snprintf(path, sizeof path, "/fruits/%s.json", name);
        char *tried = http_get(f->address, path, &code);
        assert_int_equal(code, 200);
        bool found = strstr(tried, "\"photos\":null") == NULL;
        free(tried);
        if (found)
            break;
    }
    data = load_fruit(f, name, &sheet);
    assert_non_null(strstr(data, "\"verdict\":\"complete\""));
    assert_non_null(strstr(data,
                           "\"views\":[{\"view\":0,\"width_px\":60,\"height_px\":40,\"y_px\":0},"
                           "{\"view\":1,\"width_px\":60,\"height_px\":40,\"y_px\":40}]"));
    assert_non_null(strstr(data, "\"xy\":[["));
    assert_memory_equal(sheet, "\x89PNG", 4);
    free(data);
    free(sheet);
    close(stream);
}

/* A fruit that was not whole is listed, and its photographs come from its kept maps. */
static void a_bad_fruit_is_listed_with_its_photographs(void **state)
{
    pages_fixture *f = *state;
    char text[16384], name[128];
    judge(f, 7, true);
    judge(f, 8, false);
    int stream = open_events(f);
    assert_true(http_read_until(stream,
                                "\"lane\":0,\"fruit\":8,\"fruit_text\":\"8\",\"verdict\":"
                                "\"partial\",\"over_budget\":false,",
                                text, sizeof text));
    close(stream);
    assert_null(strstr(text, "\"fruit\":7,"));
    cut(text, "\"bad\":[{\"name\":\"", "\"", name);
    char *sheet;
    char *data = load_fruit(f, name, &sheet);
    assert_non_null(
        strstr(data, "\"views\":[{\"view\":0,\"width_px\":60,\"height_px\":40,\"y_px\":0}]"));
    assert_memory_equal(sheet, "\x89PNG", 4);
    free(sheet);
    /* The texts make the fruit's address, whatever reads them. */
    char epoch[128], fruit[128], again[400];
    cut(data, "\"epoch_text\":\"", "\"", epoch);
    cut(data, "\"fruit_text\":\"", "\"", fruit);
    snprintf(again, sizeof again, "0/%s/%s", epoch, fruit);
    assert_string_equal(again, name);
    free(data);
    data = load_fruit(f, again, &sheet);
    free(data);
    free(sheet);
}

/* The flight recorder keeps verdicts in MessagePack, whatever the sockets use. */
static void a_fruit_has_outlines_also_if_sockets_use_json(void **state)
{
    pages_fixture *f = *state;
    char text[16384], name[128];
    send_partial(f, 8);
    int stream = open_events(f);
    assert_true(http_read_until(stream, "\"verdict\":\"partial\"", text, sizeof text));
    close(stream);
    cut(text, "\"bad\":[{\"name\":\"", "\"", name);
    char *sheet;
    char *data = load_fruit(f, name, &sheet);
    assert_non_null(strstr(data, "\"class\":\"rot\""));
    assert_non_null(strstr(data, "\"xy\":[["));
    free(data);
    free(sheet);
}

static void pages_load_nothing_from_elsewhere(void **state)
{
    pages_fixture *f = *state;
    static const char *const paths[] = {"/", "/fruits/0/1/2", "/page/live.js", "/page/chart.js"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char request[128], head[4096];
        int connection = http_connect(f->address);
        snprintf(request, sizeof request, "HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[i]);
        assert_true(http_send(connection, request));
        assert_true(http_read_until(connection, "\r\n\r\n", head, sizeof head));
        assert_int_equal(http_code(head), 200);
        assert_non_null(strstr(head, "Content-Security-Policy: default-src 'none'; "));
        assert_non_null(strstr(head, "X-Content-Type-Options: nosniff"));
        close(connection);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fruit_is_shown_with_its_photographs),
        TEST(a_bad_fruit_is_listed_with_its_photographs),
        cmocka_unit_test_setup_teardown(a_fruit_has_outlines_also_if_sockets_use_json, set_up_json,
                                        tear_down),
        TEST(pages_load_nothing_from_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
