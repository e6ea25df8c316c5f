/* Mistakes of those who connect a producer, each answered with one line; and what may answer in the
 * place of a daemon. */
#include "stages/producer/cernita_producer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/slots/slots_peer.h"

#define PATIENCE_MS 60000
#define NOBODY      65534

typedef struct faults_fixture {
    slots_peer peer;
    crn_producer *producer;
    char path[96];
} faults_fixture;

static const crn_producer_view small_view = {
    .height = 2, .width = 3, .channels = 4, .type = CRN_PRODUCER_U8, .layout = CRN_PRODUCER_CHW};

static int set_up(void **state)
{
    faults_fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || test_folder_make(NULL) != 0)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/slots", test_folder);
    const crn_producer_settings settings = {.path = f->path, .view_bytes = 24};
    return crn_producer_create(&settings, &f->producer);
}

static int tear_down(void **state)
{
    faults_fixture *f = *state;
    crn_producer_free(&f->producer);
    assert_null(f->producer);
    crn_producer_free(&f->producer);
    slots_peer_close(&f->peer);
    free(f);
    return test_folder_remove(NULL);
}

/* The last call's text: "slots PATH: ", then this. */
static void assert_said(faults_fixture *f, const char *expected)
{
    char line[400];
    snprintf(line, sizeof line, "slots %s: %s", f->path, expected);
    assert_string_equal(crn_producer_error(f->producer), line);
}

static void fails_to_connect(faults_fixture *f, int timeout_ms, int code, const char *expected)
{
    assert_int_equal(crn_producer_connect(f->producer, timeout_ms), -code);
    assert_said(f, expected);
    crn_producer_slot slot;
    assert_int_equal(crn_producer_take(f->producer, &small_view, 0, &slot), -ENOTCONN);
}

/* A daemon that answers so. */
static void answers(faults_fixture *f, slots_manner manner, uint32_t status, const char *text)
{
    slots_peer_listen(&f->peer, f->path, 2);
    f->peer.manner = manner;
    f->peer.answer.status = status;
    snprintf(f->peer.answer.text, sizeof f->peer.answer.text, "%s", text);
    slots_peer_accept(&f->peer);
}

static void there_is_no_socket(void **state)
{
    faults_fixture *f = *state;
    fails_to_connect(f, PATIENCE_MS, ENOENT,
                     "there is no such socket: correct the path, or start cernitad");
}

static void nobody_listens(void **state)
{
    faults_fixture *f = *state;
    slots_peer_listen(&f->peer, f->path, 1);
    slots_peer_die(&f->peer);
    fails_to_connect(f, PATIENCE_MS, ECONNREFUSED, "nobody listens there: start cernitad");
}

static void permission_is_denied(void **state)
{
    faults_fixture *f = *state;
    slots_peer_listen(&f->peer, f->path, 1);
    assert_int_equal(chmod(test_folder, 0755), 0);
    assert_int_equal(chmod(f->path, 0600), 0);
    if (geteuid() != 0)
        skip(); /* the owner is let in whatever the group may do */
    assert_int_equal(seteuid(NOBODY), 0);
    int result = crn_producer_connect(f->producer, PATIENCE_MS);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(result, -EACCES);
    assert_said(f, "permission denied: add this user to the group of the socket");
}

static void it_is_a_socket_of_another_kind(void **state)
{
    faults_fixture *f = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, f->path);
    int control = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(control, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(control, 1), 0);
    fails_to_connect(f, PATIENCE_MS, EPROTOTYPE,
                     "a socket of another kind: name ingest.slots.path of the line");
    close(control);
}

static void the_daemon_ends_before_its_answer(void **state)
{
    faults_fixture *f = *state;
    answers(f, SLOTS_HANGS_UP, 0, "");
    fails_to_connect(f, PATIENCE_MS, ENOTCONN,
                     "hung up before its answer: the daemon ends, or is another program: call "
                     "crn_producer_connect() again");
}

static void it_lets_nobody_speak(void **state)
{
    faults_fixture *f = *state;
    for (int i = 0; i < 50; i++) {
        answers(f, SLOTS_HANGS_UP_AT_ONCE, 0, "");
        assert_int_equal(crn_producer_connect(f->producer, PATIENCE_MS), -ENOTCONN);
        slots_peer_close(&f->peer);
    }
}

static void it_is_another_program(void **state)
{
    faults_fixture *f = *state;
    answers(f, SLOTS_SAYS_OTHER, 0, "");
    fails_to_connect(f, PATIENCE_MS, EPROTO,
                     "what listens there is not a cernitad: name ingest.slots.path of a line");
}

static void it_says_nothing(void **state)
{
    faults_fixture *f = *state;
    answers(f, SLOTS_SAYS_NOTHING, 0, "");
    fails_to_connect(f, 1, ETIMEDOUT, "no answer in 1 ms: is the daemon stopped?");
}

static void the_time_for_an_answer_allows_for_the_memory(void **state)
{
    (void)state;
    crn_producer_settings settings = {.view_bytes = 18432};
    assert_int_equal(crn_producer_answer_ms(&settings), 1160);
    settings.view_bytes = UINT64_C(16) << 20;
    assert_int_equal(crn_producer_answer_ms(&settings), 1000 + 10 * 17 * 16);
    settings.slots = 1024;
    assert_int_equal(crn_producer_answer_ms(&settings), 1000 + 10 * 17 * 1024);
    settings.view_bytes = UINT64_MAX;
    assert_int_equal(crn_producer_answer_ms(&settings), 600000);
    settings.slots = UINT32_MAX;
    assert_int_equal(crn_producer_answer_ms(&settings), 600000);
}

/* As many as that time is for, whatever the line would give. */
static void who_names_no_number_asks_for_sixteen(void **state)
{
    faults_fixture *f = *state;
    answers(f, SLOTS_ANSWERS, 0, "");
    assert_int_equal(crn_producer_connect(f->producer, PATIENCE_MS), 0);
    slots_peer_join(&f->peer);
    assert_int_equal(f->peer.hello.slots, 16);
}

static void it_accepts_nobody(void **state)
{
    faults_fixture *f = *state;
    answers(f, SLOTS_ACCEPTS_NOBODY, 0, "");
    fails_to_connect(f, 1, ETIMEDOUT, "the daemon accepts no connection: is it stopped?");
    fails_to_connect(f, 0, ETIMEDOUT, "the daemon accepts no connection: is it stopped?");
}

static void the_daemon_says_why_it_refuses(void **state)
{
    faults_fixture *f = *state;
    static const struct {
        uint32_t status;
        const char *text;
    } refusals[] = {
        {EOPNOTSUPP, "kind memfd is not in ingest.slots.kinds; add it"},
        {EMSGSIZE, "views of 9 MiB; raise limits.view_mib"},
        {EUSERS, "4 producers are connected; raise ingest.slots.producers"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char expected[200];
        answers(f, SLOTS_ANSWERS, refusals[i].status, refusals[i].text);
        snprintf(expected, sizeof expected, "refused: %s", refusals[i].text);
        fails_to_connect(f, PATIENCE_MS, (int)refusals[i].status, expected);
        slots_peer_close(&f->peer);
    }
    answers(f, SLOTS_ANSWERS, 0xffffffff, "?");
    fails_to_connect(f, PATIENCE_MS, EPROTO, "refused: ?");
}

static void the_memory_is_not_what_was_promised(void **state)
{
    faults_fixture *f = *state;
    static const slots_manner manners[] = {SLOTS_GIVES_NO_FDS, SLOTS_GIVES_SHORT};
    static const char said[] =
        "the answer lacks memory for its slots: install producer and daemon of one release";
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
        answers(f, manners[i], 0, "");
        fails_to_connect(f, PATIENCE_MS, EPROTO, said);
        slots_peer_close(&f->peer);
    }
    static const crn_slots_answer sizes[] = {{.slots = 0, .slot_bytes = 4096},
                                             {.slots = 2, .slot_bytes = 0},
                                             {.slots = 2, .slot_bytes = UINT64_MAX / 2 + 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        slots_peer_listen(&f->peer, f->path, 2);
        f->peer.answer = sizes[i];
        slots_peer_accept(&f->peer);
        fails_to_connect(f, PATIENCE_MS, EPROTO, said);
        slots_peer_join(&f->peer);
        f->peer.answer.slots = 2;
        slots_peer_close(&f->peer);
    }
}

/* After each of these the same object connects to a daemon that is as it should be. */
static void a_fault_is_not_for_ever(void **state)
{
    faults_fixture *f = *state;
    there_is_no_socket(state);
    the_daemon_ends_before_its_answer(state);
    slots_peer_close(&f->peer);
    answers(f, SLOTS_ANSWERS, 0, "");
    assert_int_equal(crn_producer_connect(f->producer, PATIENCE_MS), 0);
    assert_string_equal(crn_producer_error(f->producer), "");
}

static void a_path_is_needed(void **state)
{
    (void)state;
    crn_producer *producer = NULL;
    char too_long[109] = {0};
    memset(too_long, 'a', 108);
    assert_int_equal(crn_producer_create(&(crn_producer_settings){.path = too_long}, &producer),
                     -EINVAL);
    assert_int_equal(crn_producer_create(&(crn_producer_settings){.path = ""}, &producer), -EINVAL);
    assert_int_equal(crn_producer_create(&(crn_producer_settings){.path = NULL}, &producer),
                     -EINVAL);
    assert_null(producer);
    crn_producer_free(NULL);
}

static void refuses(faults_fixture *f, const crn_producer_view *view, int code, const char *text)
{
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES] = {0};
    crn_producer_slot slot = {0}, taken;
    assert_int_equal(crn_producer_take(f->producer, view, 0, &slot), -code);
    assert_said(f, text);
    assert_null(slot.tensor);
    assert_int_equal(crn_producer_take(f->producer, &small_view, 0, &taken), 0);
    slot = taken;
    assert_int_equal(crn_producer_send(f->producer, view, &slot), -code);
    assert_said(f, text);
    assert_int_equal(crn_producer_pack(f->producer, view, &slot, message), -code);
    assert_int_equal(message[0], 0);
    assert_memory_equal(&slot, &taken, sizeof slot);
    crn_producer_drop(f->producer, &slot);
}

static void a_view_must_be_one(void **state)
{
    faults_fixture *f = *state;
    answers(f, SLOTS_ANSWERS, 0, "");
    assert_int_equal(crn_producer_connect(f->producer, PATIENCE_MS), 0);
    crn_producer_view view = small_view;
    view.type = (crn_producer_type)0;
    refuses(f, &view, EINVAL, "type must be CRN_PRODUCER_U8, _F16 or _F32");
    view.type = (crn_producer_type)4;
    refuses(f, &view, EINVAL, "type must be CRN_PRODUCER_U8, _F16 or _F32");
    assert_int_equal(crn_producer_view_bytes(&view), 0);
    view = small_view;
    view.layout = (crn_producer_layout)0;
    refuses(f, &view, EINVAL, "layout must be CRN_PRODUCER_CHW or _HWC");
    view = small_view;
    view.width = 0;
    refuses(f, &view, EINVAL,
            "height, width and channels must be 1 to 2147483647 and fit into memory, not 2, 0 "
            "and 4");
    view.width = view.height = view.channels = 2147483647;
    assert_int_equal(crn_producer_view_bytes(&view), 0);
    view = small_view;
    view.view = view.views = 4;
    refuses(f, &view, EINVAL, "view must be less than views, not 4 of 4");
    assert_int_equal(crn_producer_send_without(f->producer, &view), -EINVAL);
    view = small_view;
    view.channels = 1366;
    refuses(f, &view, EMSGSIZE,
            "a view of 8196 bytes in slots of 8192: give view_bytes of the largest view to "
            "crn_producer_create()");
    view.channels = 1365;
    view.has_intensity = 1;
    assert_int_equal(crn_producer_view_bytes(&view), 8192 + 6);
    assert_int_equal(crn_producer_send_without(f->producer, &view), 0);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_no_socket),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(permission_is_denied),
        cmocka_unit_test(it_is_a_socket_of_another_kind),
        cmocka_unit_test(the_daemon_ends_before_its_answer),
        cmocka_unit_test(it_lets_nobody_speak),
        cmocka_unit_test(it_is_another_program),
        cmocka_unit_test(it_says_nothing),
        cmocka_unit_test(the_time_for_an_answer_allows_for_the_memory),
        cmocka_unit_test(who_names_no_number_asks_for_sixteen),
        cmocka_unit_test(it_accepts_nobody),
        cmocka_unit_test(the_daemon_says_why_it_refuses),
        cmocka_unit_test(the_memory_is_not_what_was_promised),
        cmocka_unit_test(a_fault_is_not_for_ever),
        cmocka_unit_test(a_path_is_needed),
        cmocka_unit_test(a_view_must_be_one),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
