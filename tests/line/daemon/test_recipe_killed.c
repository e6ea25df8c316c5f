/*
 * The daemon is killed (SIGKILL) at moments around the acknowledgement of a new recipe: the first
 * verdict after the restart names the recipe that was acknowledged last, or the one that was asked
 * for since and not answered. CRN_CASES is the number of moments (100 by default).
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "src/formats/view/wire.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/kept_line.h"
#include "tests/support/peers/decode.h"
#include "tests/support/peers/peer.h"
#include "tests/support/random.h"

#define SIDE 16

static const char *const recipes[] = {"", "apricot", "peach"};

static daemon_process line;
static void *zmq;
static crn_peer_message *message;
static char named[64], settings[64], lot[64]; /* by the last verdict */

static void copy_text(const char *key, char ret_text[64])
{
    const msgpack_object *text = crn_decoded_field(&message->unpacked.data, key);
    snprintf(ret_text, 64, "%.*s", (int)text->via.str.size, text->via.str.ptr);
}

/* Has a fruit judged. */
static void judge(uint64_t fruit)
{
    static float maps[SIDE * SIDE];
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    char endpoint[128];
    crn_view_header header = {.epoch = fruit,
                              .fruit = fruit,
                              .views = 1,
                              .height = SIDE,
                              .width = SIDE,
                              .channels = 1,
                              .type = CRN_F32,
                              .layout = CRN_HWC,
                              .payload_bytes = sizeof maps};
    crn_wire_pack(&header, bytes);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/grader", test_folder);
    void *grader = crn_peer_connect(zmq, ZMQ_PULL, false, endpoint);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", test_folder);
    void *sender = crn_peer_connect(zmq, ZMQ_PUSH, false, endpoint);
    assert_int_equal(zmq_send(sender, bytes, sizeof bytes, ZMQ_SNDMORE), sizeof bytes);
    assert_int_equal(zmq_send(sender, maps, sizeof maps, 0), sizeof maps);
    do
        crn_peer_receive_map(grader, message);
    while (strncmp(message->topic, "fruit/", 6) != 0);
    copy_text("recipe", named);
    copy_text("settings", settings);
    copy_text("lot", lot);
    zmq_close(sender);
    zmq_close(grader);
}

static int connect_control(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 60};
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/control", test_folder);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(client >= 0);
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    return client;
}

static void ask(int client, const char *recipe)
{
    char request[64];
    int length = snprintf(request, sizeof request, recipe[0] ? "recipe %s" : "recipe", recipe);
    assert_int_equal(send(client, request, (size_t)length, MSG_NOSIGNAL), length);
}

/* False: the daemon was killed before it answered. */
static bool acknowledged(int client)
{
    char answer[4096];
    ssize_t size = recv(client, answer, sizeof answer - 1, 0);
    if (size <= 0)
        return false;
    answer[size] = '\0';
    if (strncmp(answer, "ok\n", 3) != 0 || strstr(answer, "note: a restart"))
        fail_msg("%s", answer);
    return true;
}

/* Asks, waits and kills; returns whether an acknowledgement had arrived. */
static bool kill_after(const char *recipe, int64_t wait_ns)
{
    int client = connect_control();
    int64_t asked_ns = crn_now_ns();
    ask(client, recipe);
    while (crn_now_ns() - asked_ns < wait_ns)
        sched_yield();
    kept_line_end(&line, SIGKILL);
    bool answered = acknowledged(client);
    close(client);
    return answered;
}

static int64_t time_switch(const char *recipe)
{
    int client = connect_control();
    int64_t asked_ns = crn_now_ns();
    ask(client, recipe);
    assert_true(acknowledged(client));
    int64_t took_ns = crn_now_ns() - asked_ns;
    close(client);
    return took_ns;
}

/* How long a switch takes here when nothing else runs; the last one is to recipes[1]. */
static int64_t measure_switch(void)
{
    int64_t least_ns = CRN_NEVER_NS;
    for (int i = 0; i < 5; i++) {
        int64_t took_ns = time_switch(recipes[1 + i % 2]);
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return least_ns;
}

static void the_first_verdict_is_by_the_recipe_acknowledged_last(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t moments = crn_random_cases(100), answered = 0, taken = 0;
    size_t last = 1;
    kept_line_start(&line);
    int64_t took_ns = measure_switch();
    for (uint32_t i = 0; i < moments; i++) {
        size_t next = (last + 1 + crn_random_below(&random, 2)) % 3;
        bool ok = kill_after(recipes[next], 2 * took_ns * i / moments);
        kept_line_start(&line);
        judge(i + 1);
        bool is_next = strcmp(named, recipes[next]) == 0;
        if (!is_next && (ok || strcmp(named, recipes[last]) != 0))
            fail_msg("moment %" PRIu32 ": '%s' after '%s', %s: judged by '%s'", i, recipes[next],
                     recipes[last], ok ? "acknowledged" : "not answered", named);
        answered += ok;
        taken += is_next && !ok;
        last = is_next ? next : last;
    }
    kept_line_end(&line, SIGKILL);
    print_message("%" PRIu32 " of %" PRIu32 " switches acknowledged before the kill, %" PRIu32
                  " others in force\n",
                  answered, moments, taken);
}

/* --- what is lost, and found again --- */

/* The conditions' thread looks once a second. */
static void await_status(const char *said, bool there)
{
    char output[4096];
    int64_t until_ns = crn_now_ns() + 60 * CRN_NS_PER_S;
    do {
        if (crn_now_ns() > until_ns)
            fail_msg("%s: %s", said, output);
        assert_int_equal(kept_line_control("status", output, sizeof output), 0);
        sched_yield();
    } while ((strstr(output, said) != NULL) != there);
}

static const char lost[] = "' was lost in a restart";

static void the_settings_are_those_before_the_kill(void **state)
{
    (void)state;
    char output[4096], before[64];
    kept_line_start(&line);
    assert_int_equal(kept_line_control("recipe peach", output, sizeof output), 0);
    judge(1);
    memcpy(before, settings, sizeof before);
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    judge(2);
    assert_string_equal(settings, before);
    assert_string_equal(named, "peach");
    assert_int_equal(kept_line_control("recipes", output, sizeof output), 0);
    assert_non_null(strstr(output, "* peach"));
    assert_int_equal(kept_line_control("reload", output, sizeof output), 0); /* the recipe stays */
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    judge(3);
    assert_string_equal(settings, before);
    kept_line_end(&line, SIGKILL);
}

static void the_lot_is_that_before_the_kill(void **state)
{
    (void)state;
    char output[4096];
    kept_line_start(&line);
    judge(1);
    assert_string_equal(lot, "");
    assert_int_equal(kept_line_control("lot 'Hof 7' --grower Käthe", output, sizeof output), 0);
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    judge(2);
    assert_string_equal(lot, "Hof 7");
    assert_int_equal(kept_line_control("lot", output, sizeof output), 0);
    assert_string_equal(output, "lot       Hof 7\ngrower    Käthe\n");
    assert_int_equal(kept_line_control("lot --end", output, sizeof output), 0);
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    judge(3);
    assert_string_equal(lot, "");
    kept_line_end(&line, SIGKILL);
}

static void a_lot_that_is_not_certain_is_told_until_one_is_chosen(void **state)
{
    (void)state;
    static const char lot_lost[] = "The lot was lost in a restart";
    char output[4096], path[96];
    kept_line_start(&line);
    assert_int_equal(kept_line_control("lot 'Hof 7'", output, sizeof output), 0);
    kept_line_end(&line, SIGKILL);
    snprintf(path, sizeof path, "%s/state/lot", test_folder);
    assert_int_equal(truncate(path, 20), 0);
    kept_line_start(&line);
    judge(1);
    assert_string_equal(lot, "");
    await_status(lot_lost, true);
    assert_int_equal(kept_line_control("lot --end", output, sizeof output), 0);
    await_status(lot_lost, false);
    kept_line_end(&line, SIGKILL);
}

#define APRICOT "recipes: {apricot: {classes: {rot: 0.4}}}\n"

/* A reload that is taken in keeps the condition. It ends another one, which shows when the line was
 * looked at after it. */
static void reload_and_look(void)
{
    char output[4096];
    static const char refused[] = "New settings were refused";
    kept_line_write("0.5", "limits: {lanes: 3}\n" APRICOT);
    assert_int_not_equal(kept_line_control("reload", output, sizeof output), 0);
    await_status(refused, true);
    kept_line_write("0.5", "log: {level: debug}\n" APRICOT);
    assert_int_equal(kept_line_control("reload", output, sizeof output), 0);
    await_status(refused, false);
    assert_int_equal(kept_line_control("status", output, sizeof output), 0);
    assert_non_null(strstr(output, lost));
}

static void a_recipe_that_the_file_lacks_is_told_until_one_is_chosen(void **state)
{
    (void)state;
    char output[4096];
    kept_line_start(&line);
    assert_int_equal(kept_line_control("recipe peach", output, sizeof output), 0);
    kept_line_end(&line, SIGKILL);
    kept_line_write("0.5", APRICOT);
    kept_line_start(&line);
    kept_line_end(&line, SIGKILL); /* another restart does not forget it */
    kept_line_start(&line);
    assert_non_null(strstr(line.text, "the file has no recipe 'peach' any more"));
    judge(1);
    assert_string_equal(named, "");
    await_status("Recipe 'peach' was lost in a restart", true);
    reload_and_look();
    assert_int_equal(kept_line_control("recipe --none", output, sizeof output), 0);
    await_status(lost, false);
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    await_status("recipe    none", true);
    assert_null(strstr(line.text, "not certain"));
    kept_line_end(&line, SIGKILL);
}

static void a_damaged_file_is_told(void **state)
{
    (void)state;
    char path[128], output[4096];
    snprintf(path, sizeof path, "%s/state/recipe", test_folder);
    kept_line_start(&line);
    assert_int_equal(kept_line_control("recipe peach", output, sizeof output), 0);
    kept_line_end(&line, SIGKILL);
    assert_int_equal(truncate(path, 20), 0);
    kept_line_start(&line);
    assert_non_null(strstr(line.text, "is damaged, or not cernitad's"));
    await_status(lost, true);
    assert_int_equal(kept_line_control("recipe apricot", output, sizeof output), 0);
    await_status(lost, false);
    kept_line_end(&line, SIGKILL);
}

/* A disk that takes nothing for a while: the folder is away. */
static void put_away(bool away)
{
    char folder[96], aside[96];
    snprintf(folder, sizeof folder, "%s/state", test_folder);
    snprintf(aside, sizeof aside, "%s/aside", test_folder);
    assert_int_equal(rename(away ? folder : aside, away ? aside : folder), 0);
}

static void what_could_not_be_kept_is_told_and_kept_later(void **state)
{
    (void)state;
    static const char not_kept[] = "The recipe is not saved";
    char output[4096];
    kept_line_start(&line);
    assert_int_equal(kept_line_control("recipe apricot", output, sizeof output), 0);
    put_away(true);
    assert_int_equal(kept_line_control("recipe peach", output, sizeof output), 0);
    assert_non_null(strstr(output, "note: a restart would lose it"));
    assert_int_equal(kept_line_control("lot 'Hof 7'", output, sizeof output), 0);
    assert_non_null(strstr(output, "note: a restart would lose it"));
    await_status(not_kept, true);
    await_status("The lot is not saved", true);
    put_away(false);
    await_status(not_kept, false);
    await_status("The lot is not saved", false);
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    assert_null(strstr(line.text, "not certain"));
    judge(1);
    assert_string_equal(named, "peach");
    assert_string_equal(lot, "Hof 7");
    kept_line_end(&line, SIGKILL);
}

static int set_up(void **state)
{
    char state_folder[96];
    int r = test_folder_make(state);
    snprintf(state_folder, sizeof state_folder, "%s/state", test_folder);
    r = r < 0 ? r : mkdir(state_folder, 0755);
    kept_line_write("0.5",
                    "recipes: {apricot: {classes: {rot: 0.4}}, peach: {classes: {rot: 0.3}}}\n");
    zmq = zmq_ctx_new();
    message = crn_peer_message_new();
    return r;
}

static int tear_down(void **state)
{
    crn_peer_message_free(message);
    zmq_ctx_term(zmq);
    return test_folder_remove(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_verdict_is_by_the_recipe_acknowledged_last),
        TEST(the_settings_are_those_before_the_kill),
        TEST(the_lot_is_that_before_the_kill),
        TEST(a_lot_that_is_not_certain_is_told_until_one_is_chosen),
        TEST(a_recipe_that_the_file_lacks_is_told_until_one_is_chosen),
        TEST(a_damaged_file_is_told),
        TEST(what_could_not_be_kept_is_told_and_kept_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
