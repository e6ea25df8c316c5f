/* States of views: decoded from a verdict
 * (src/formats/verdict/decode.h) and formatted as text (view_text.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/common/verdicts/view_text.h"

#define HEAD                                                                                       \
    "{\"v\":1,\"run\":\"a\",\"settings\":\"00ff\",\"recipe\":\"\",\"lane\":0,\"fruit\":1,"         \
    "\"sequence\":2,\"verdict\":\"partial\",\"deadline_ns\":17000,\"views_expected\":5,"           \
    "\"views_received\":3,\"views_judged\":2,\"view_states\":"
#define JUDGED(view, reason, more)                                                                 \
    "{\"view\":" #view ",\"state\":\"judged\",\"reason\":\"" reason "\",\"captured_ns\":7,"        \
    "\"encoder\":18446744073709551615,\"received_ms\":1.5,\"queue_ms\":0.25,\"run_ms\":3,"         \
    "\"backend\":\"cuda\"" more "}"
#define OTHER(view, state, reason)                                                                 \
    "{\"view\":" #view ",\"state\":\"" state "\",\"reason\":\"" reason "\",\"captured_ns\":null,"  \
    "\"encoder\":null,\"received_ms\":null,\"queue_ms\":null,\"run_ms\":null,\"backend\":\"\"}"

static int decode(const char *json, crn_decoded **ret_decoded, crn_error *error)
{
    crn_messagepack_json packed;
    int r = crn_messagepack_json_init(&packed, json, strlen(json), error);
    if (r < 0)
        return r;
    r = crn_decode(&packed, ret_decoded, error);
    crn_messagepack_json_done(&packed);
    return r;
}

static crn_decoded *decode_good(const char *json)
{
    crn_decoded *decoded = NULL;
    crn_error error = {""};
    int r = decode(json, &decoded, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
    return decoded;
}

static void every_key_is_read(void **state)
{
    (void)state;
    crn_decoded *verdict = decode_good(HEAD "[" JUDGED(
        0, "not_finite", ",\"class\":\"rot\",\"count\":48545") "," OTHER(3, "missing", "") "]}");
    assert_string_equal(verdict->settings, "00ff");
    assert_string_equal(verdict->recipe, "");
    assert_int_equal(verdict->deadline_ns, 17000);
    assert_int_equal(verdict->view_count, 2);
    const crn_decoded_view *view = crn_decoded_find_view(verdict, 0);
    assert_ptr_equal(view, &verdict->views[0]);
    assert_true(crn_decoded_view_is(view, "judged"));
    assert_string_equal(view->reason, "not_finite");
    assert_string_equal(view->backend, "cuda");
    assert_string_equal(view->name, "rot");
    assert_int_equal(view->count, 48545);
    assert_int_equal(view->captured_ns, 7);
    assert_true(view->encoder == UINT64_MAX);
    assert_true(view->received_ms == 1.5 && view->queue_ms == 0.25 && view->run_ms == 3);
    view = crn_decoded_find_view(verdict, 3);
    assert_non_null(view);
    assert_true(crn_decoded_view_is(view, "missing"));
    assert_string_equal(view->reason, "");
    assert_true(isnan(view->received_ms) && isnan(view->queue_ms) && isnan(view->run_ms));
    assert_int_equal(view->encoder, 0);
    assert_null(crn_decoded_find_view(verdict, 1));
    crn_decoded_free(&verdict);
}

static void faults_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *json, *fault;
    } cases[] = {
        {HEAD "{}}", "'view_states' is of another kind than expected"},
        {HEAD "[3]}", "not a map where one with 'view' is expected"},
        {HEAD "[{\"view\":null,\"state\":\"judged\"}]}", "'view' is of another kind than expected"},
        {HEAD "[{\"view\":1}]}", "'state' is missing"},
        {HEAD "[{\"view\":1,\"state\":\"lost\",\"count\":-1}]}",
         "'count' is of another kind than expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_decoded *decoded = NULL;
        crn_error error = {""};
        assert_int_equal(decode(cases[i].json, &decoded, &error), -EBADMSG);
        assert_string_equal(error.text, cases[i].fault);
        assert_null(decoded);
    }
}

static void more_views_than_a_fruit_has_are_left_out(void **state)
{
    (void)state;
    enum { VIEWS = 3 * CRN_FRUIT_VIEWS_MAX };
    char *json = malloc(sizeof HEAD + VIEWS * 64);
    size_t used = (size_t)sprintf(json, HEAD "[");
    for (int i = 0; i < VIEWS; i++)
        used += (size_t)sprintf(json + used, "%s{\"view\":%d,\"state\":\"lost\"}", i ? "," : "", i);
    strcpy(json + used, "]}");
    crn_decoded *verdict = decode_good(json);
    assert_int_equal(verdict->view_count, CRN_FRUIT_VIEWS_MAX);
    char text[4096], few[40];
    crn_views_text(verdict, text, sizeof text);
    assert_non_null(strstr(text, ", 62, 63 lost"));
    crn_views_text(verdict, few, sizeof few); /* text that does not fit is truncated */
    assert_int_equal(strlen(few), sizeof few - 1);
    crn_decoded_free(&verdict);
    free(json);
}

static void expect_text(const char *json, const char *expected)
{
    crn_decoded *verdict = decode_good(json);
    char text[512];
    crn_views_text(verdict, text, sizeof text);
    assert_string_equal(text, expected);
    crn_decoded_free(&verdict);
}

static void what_is_not_whole_is_said(void **state)
{
    (void)state;
    expect_text(
        HEAD "[" JUDGED(0, "", "") "," JUDGED(1, "skipped", "") "," JUDGED(2, "truncated", "") "]}",
        "3 received");
    expect_text(
        HEAD "[" JUDGED(0, "out_of_range", ",\"class\":\"rot\",\"count\":1") "," JUDGED(
            1, "mask_values",
            ",\"class\":\"\",\"count\":9") "," OTHER(2, "lost",
                                                     "no_slot") "," OTHER(3, "missing",
                                                                          "") "," OTHER(4, "lost",
                                                                                        "no_slot") "," OTHER(5,
                                                                                                             "refused",
                                                                                                             "class_set") "]}",
        "3 received, view 0 out_of_range in rot (1 value), view 1 mask_values (9 values), "
        "views 2, 4 lost: no_slot, view 3 missing, view 5 refused: class_set");
    /* States and reasons of later versions. */
    expect_text(HEAD "[" JUDGED(0, "blurred", "") "," OTHER(1, "postponed", "") "]}",
                "3 received, view 0 blurred, view 1 postponed");
    expect_text(HEAD "[]}", "3 received");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(more_views_than_a_fruit_has_are_left_out),
        cmocka_unit_test(what_is_not_whole_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
