/* cernita-workbench: who may ask, and what hostile files do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/programs/workbench_program.h"

/* --- who may ask ------------------------------------------------------------------------------ */

static void only_its_own_page_may_ask(void **state)
{
    (void)state;
    workbench_expect_get(&the_bench, "/", "-", 200);
    workbench_expect_get(&the_bench, "/page/workbench.js", "-", 200);
    workbench_expect_get(&the_bench, "/page/../store.c", "-", 404);
    workbench_expect_get(&the_bench, "/nix", "-", 404);
    workbench_expect_get(&the_bench, "/page/workbench.js%00.html", "-", 400);
    workbench_expect_get(&the_bench, "/%0a", "-", 400);
    workbench_expect_get(&the_bench, "/?a=%00", "-", 400);
    workbench_expect_get(&the_bench, "/?a=%0a%C3%A0", "-", 200);
    workbench_expect_get(&the_bench, "/apply", "-", 405);
    workbench_expect_get(&the_bench, "/pictures/18446744073709551617/file", "-", 404);
    workbench_expect_get(&the_bench, "/pictures/1/nix", "-", 404);
    workbench_expect_get(&the_bench, "/", "-Host: evil.example\r\n", 421);
    workbench_expect_get(&the_bench, "/pictures/1/planes", "-Sec-Fetch-Site: cross-site\r\n", 403);
    workbench_expect_get(&the_bench, "/", "-Sec-Fetch-Site: cross-site\r\n", 200);
    workbench_expect_get(&the_bench, "/pictures/1/planes", "-Sec-Fetch-Site: same-origin\r\n", 200);
    const char text[] = "field\n4\n1\n0.5";
    static const struct {
        const char *headers;
        int code;
    } cases[] = {
        {"-", 403},
        {"-Origin: http://localhost\r\n", 403},
        {"Origin: http://evil.example\r\n", 403},
        {"Origin: null\r\n", 403},
        {"Origin: http://localhost\r\n", 200},
        {"", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        workbench_reply reply =
            workbench_ask(&the_bench, "POST", "/generate", cases[i].headers, text, strlen(text));
        if (reply.code != cases[i].code)
            fail_msg("'%s': %d", cases[i].headers, reply.code);
        workbench_reply_free(&reply);
    }
    workbench_reply page = workbench_ask(&the_bench, "GET", "/", "-", NULL, 0);
    assert_non_null(strstr(page.head, "Content-Security-Policy: default-src 'none'"));
    workbench_reply_free(&page);
}

static void other_machines_need_a_token(void **state)
{
    workbench guarded;
    assert_int_equal(apply_setup(state), 0);
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-workbench", "--listen 0.0.0.0:0"), 2);
    assert_non_null(strstr(apply_output, "give --token-file"));
    apply_write_text("short", "abc\n");
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-workbench", "--token-file short"), 2);
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-workbench", "--listen 8080"), 2);
    apply_write_text("token", "abcdefghijklmnop1234\n");
    workbench_start(&guarded, (const char *const[]){"--token-file", "token", NULL});
    assert_string_equal(guarded.token, "abcdefghijklmnop1234");
    static const struct {
        const char *path, *headers;
        int code;
    } cases[] = {
        {"/", "-", 403},
        {"/catalogue", "-", 403},
        {"/pictures/1/file", "-Cookie: cernita_workbench=abcdefghijklmnop1235\r\n", 403},
        {"/?token=abcdefghijklmnop123", "-", 403},
        {"/?token=abcdefghijklmnop1234", "-", 303},
        {"/", "-Cookie: cernita_workbench=abcdefghijklmnop1234\r\n", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        workbench_reply reply =
            workbench_ask(&guarded, "GET", cases[i].path, cases[i].headers, NULL, 0);
        assert_int_equal(reply.code, cases[i].code);
        if (reply.code == 303)
            assert_non_null(strstr(reply.head, "HttpOnly; SameSite=Strict"));
        workbench_reply_free(&reply);
    }
    workbench_stop(&guarded);
    assert_int_equal(apply_teardown(state), 0);
}

/* --- files ------------------------------------------------------------------------------------ */

static void expect_refused(const char *name, const void *bytes, size_t size, const char *wanted)
{
    char path[128];
    snprintf(path, sizeof path, "/pictures?name=%s", name);
    workbench_reply reply = workbench_ask(&the_bench, "POST", path, "", bytes, size);
    if (reply.code != 422)
        fail_msg("%s: %d: %s", name, reply.code, reply.body);
    const char *sentence = workbench_text(reply.body, "error");
    if (!strstr(sentence, wanted) || strchr(sentence, '\n'))
        fail_msg("%s: '%s' instead of '%s'", name, sentence, wanted);
    workbench_reply_free(&reply);
}

static int count_pictures(void)
{
    workbench_reply reply = workbench_ask(&the_bench, "GET", "/pictures", "-", NULL, 0);
    int count = 0;
    for (const char *at = reply.body; (at = strstr(at, "\"id\":")); at++)
        count++;
    workbench_reply_free(&reply);
    return count;
}

static void hostile_files_get_a_sentence(void **state)
{
    (void)state;
    int before = count_pictures();
    static const char text[] = "just some words";
    expect_refused("words.png", text, sizeof text, "words.png: is neither");
    expect_refused("contours.json", "[]", 2, "contours.json: is neither");
    expect_refused("nothing.tif", "", 0, "nothing.tif: ");
    expect_refused("..%2f..%2fetc%2fpasswd", text, sizeof text, "passwd: is neither");

    unsigned char *bytes;
    crn_picture picture = apply_picture("whole.png", CRN_U8, 1, 3, false, 200, 300);
    crn_picture_free(&picture);
    size_t size = picture_load_bytes("whole.png", &bytes);
    expect_refused("cut.png", bytes, size / 2, "cut.png: ");
    free(bytes);
    picture = apply_picture("whole.tif", CRN_U16, 2, 1, false, 50, 60);
    crn_picture_free(&picture);
    size = picture_load_bytes("whole.tif", &bytes);
    expect_refused("cut.tif", bytes, size - 3000, "cut.tif: ");
    free(bytes);

    /* 4 GiB of values in 128 bytes. */
    static const char bomb[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, "
                               "'shape': (32768, 32768), }"
                               "                                             \n";
    expect_refused("bomb.npy", bomb, sizeof bomb - 1, "bomb.npy: ");
    assert_int_equal(count_pictures(), before);
}

/* A classic TIFF whose only directory names itself as the next one. */
static void a_looping_tiff_is_refused_or_read_once(void **state)
{
    (void)state;
    unsigned char *bytes;
    char path[64] = "/pictures?name=loop.tif";
    crn_picture picture = apply_picture("loop.tif", CRN_U8, 1, 1, false, 8, 8);
    crn_picture_free(&picture);
    size_t size = picture_load_bytes("loop.tif", &bytes);
    uint32_t directory;
    uint16_t entries;
    memcpy(&directory, bytes + 4, sizeof directory);
    memcpy(&entries, bytes + directory, sizeof entries);
    memcpy(bytes + directory + 2 + 12 * entries, &directory, sizeof directory);
    workbench_reply reply = workbench_ask(&the_bench, "POST", path, "", bytes, size);
    assert_true(reply.code == 422 || workbench_number(reply.body, "pages") == 1);
    workbench_reply_free(&reply);
    free(bytes);
}

static void a_name_is_made_unique_and_harmless(void **state)
{
    static const char *const names[][2] = {
        {"a.png", "a.png"},
        {"a.png", "a-2.png"},
        {"..%2f.b.png", "_b.png"},
        {"-rf.png", "_rf.png"},
        {"%0Ac.png", "_c.png"},
        {"%ff%fed.png", "__d.png"},
        {"%c3%a8.png", "\xc3\xa8.png"},
        {"", "picture"},
    };
    (void)state;
    crn_picture picture = apply_picture("a.png", CRN_U8, 1, 1, false, 4, 4);
    crn_picture_free(&picture);
    unsigned char *bytes;
    size_t size = picture_load_bytes("a.png", &bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "/pictures?name=%s", names[i][0]);
        workbench_reply reply = workbench_ask(&the_bench, "POST", path, "", bytes, size);
        assert_int_equal(reply.code, 200);
        assert_string_equal(workbench_text(reply.body, "name"), names[i][1]);
        workbench_reply_free(&reply);
    }
    free(bytes);
}

/* An upload that is announced as too large, or whose client leaves, leaves nothing behind. */
static void half_an_upload_leaves_nothing(void **state)
{
    (void)state;
    static const char head[] = "POST /pictures?name=large.tif HTTP/1.1\r\nHost: localhost\r\n"
                               "X-Cernita-Workbench: 1\r\nContent-Length: ";
    int connection = http_connect(the_bench.address);
    assert_true(http_send(connection, head));
    assert_true(http_send(connection, "1000000\r\n\r\nabcd"));
    close(connection);
    connection = http_connect(the_bench.address);
    assert_true(http_send(connection, head));
    assert_true(http_send(connection, "999999999999\r\n\r\nabcd"));
    close(connection);
    assert_int_equal(count_pictures(), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_its_own_page_may_ask, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test(other_machines_need_a_token),
        cmocka_unit_test_setup_teardown(hostile_files_get_a_sentence, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(a_looping_tiff_is_refused_or_read_once, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(a_name_is_made_unique_and_harmless, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(half_an_upload_leaves_nothing, workbench_setup,
                                        workbench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
