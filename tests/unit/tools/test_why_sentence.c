/* Every cause and its sentence (tools/why/output/sentence.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/formats/view/refusal.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/why/output/sentence.h"

#define VIEW(v)      (UINT64_C(1) << (v))
#define BUDGET       .latency_ms = 98, .budget_ms = 100, .left_ms = 100
#define LEFT(ms)     .latency_ms = 98, .budget_ms = 100, .left_ms = ms
#define PARTIAL      .kind = CRN_VERDICT_PARTIAL, BUDGET
#define LATE         .kind = CRN_VERDICT_LATE, BUDGET
#define CAUSE(which) .cause = CRN_CAUSE_##which
#define ONE(which)   CAUSE(which), .view = 2, .views = {[CRN_CAUSE_##which] = VIEW(2)}
#define TWO(which)   CAUSE(which), .view = 1, .views = {[CRN_CAUSE_##which] = VIEW(1) | VIEW(2)}
#define CROWD        .around = {.waiting = 34, .running = 1, .longest_ms = 61, .longest_fruit = 4711}
#define QUIET        "; the log shows no other view at that time (limits.slots, run.workers)"

static const struct {
    crn_diagnosis of;
    const char *sentence;
} cases[] = {
    /* judged early, from outside */
    {{PARTIAL, CAUSE(OPEN_FRUITS), .open_ms = 210, .around = {.open = 256, .lacking = 250},
      .views = {[CRN_CAUSE_MISSING] = VIEW(3), [CRN_CAUSE_UNFINISHED] = VIEW(1)}},
     "partial: it was judged early, 210 ms after its first view, because limits.open_fruits was "
     "reached (256 other fruits were open, of which 250 lacked views): raise it, or see why views "
     "do not come; also view 1 unfinished, view 3 missing"},
    {{PARTIAL, CAUSE(STOP), .open_ms = 12.34},
     "partial: the daemon was stopped, which closed the fruit 12.3 ms after its first view"},
    /* faults of the machine */
    {{LATE, ONE(DEVICE_LOST)},
     "late: view 2 was on a device that was lost: the daemon's log says when and why"},
    {{LATE, TWO(DEVICE_LOST)},
     "late: views 1, 2 were on a device that was lost: the daemon's log says when and why"},
    {{PARTIAL, ONE(FAILED)}, "partial: the chain failed on view 2: the daemon's log has the error"},
    /* refused */
    {{PARTIAL, ONE(REFUSED), .name = "class_set"},
     "partial: view 2's message was refused (class_set): the sender's class names or their order "
     "are not those of the file"},
    {{PARTIAL, TWO(REFUSED), .name = "views_mismatch"},
     "partial: the messages of views 1, 2 were refused (views_mismatch): `views` is not that of "
     "the "
     "fruit's first message"},
    {{PARTIAL, ONE(REFUSED), .name = "lanes"},
     "partial: view 2's message was refused (lanes): a lane more than limits.lanes allows"},
    {{PARTIAL, ONE(REFUSED), .name = "of tomorrow"},
     "partial: view 2's message was refused (of tomorrow): the daemon's log says what is wrong "
     "with "
     "it"},
    /* no room, no time */
    {{PARTIAL, ONE(NO_SLOT), CROWD},
     "partial: no free slot for view 2; 34 views were waiting, the worker spent 61 ms on fruit "
     "4711"},
    {{LATE, TWO(NO_SLOT),
      .around = {.waiting = 1,
                 .running = 4,
                 .lane = 3,
                 .longest_ms = 6.25,
                 .longest_lane = 4,
                 .longest_fruit = 9}},
     "late: no free slot for views 1, 2; 1 view was waiting, one of the workers spent 6.25 ms on "
     "fruit 9 of lane 4"},
    {{PARTIAL, ONE(NO_SLOT),
      .around =
          {.longest_ms = 3, .longest_on_device = true, .longest_own = true, .longest_view = 1}},
     "partial: no free slot for view 2; the device spent 3 ms on its view 1"},
    {{PARTIAL, ONE(NO_SLOT), .around = {.waiting = 2}},
     "partial: no free slot for view 2; 2 views were waiting, and the log shows none that "
     "ran (limits.slots, run.workers)"},
    {{PARTIAL, ONE(NO_SLOT),
      .around = {.waiting = 34, .ran = 12, .ran_ms = 72, .longest_ms = 24, .to_ns = 100000000}},
     "partial: no free slot for view 2; 34 views were waiting, the 12 views that ran took 6 ms "
     "each"},
    {{PARTIAL, ONE(NO_SLOT),
      .around = {.ran = 12, .ran_ms = 72, .longest_ms = 26, .to_ns = 100000000}},
     "partial: no free slot for view 2; the worker spent 26 ms on fruit 0"},
    {{PARTIAL, ONE(NO_SLOT)}, "partial: no free slot for view 2" QUIET},
    {{PARTIAL, ONE(EVICTED), .waited_ms = 40, CROWD},
     "partial: view 2 lost its slot to views of higher priority after waiting 40 ms; 34 views were "
     "waiting, the worker spent 61 ms on fruit 4711"},
    {{PARTIAL, TWO(EVICTED), .waited_ms = 40},
     "partial: views 1, 2 lost their slots to views of higher priority, the last after waiting 40 "
     "ms" QUIET},
    {{PARTIAL, ONE(UNFINISHED), .waited_ms = 3, .ran_ms = 95, .around = {.ran = 4, .ran_ms = 48}},
     "partial: view 2 had run for 95 ms, after waiting 3 ms, when its time was up; 4 other views "
     "around that time ran for 12 ms on average"},
    {{.kind = CRN_VERDICT_PARTIAL, LEFT(80), ONE(UNFINISHED), .waited_ms = 3, .ran_ms = 75},
     "partial: view 2 had run for 75 ms, after waiting 3 ms, when its time was up (the deadline in "
     "a header left 80 of 100 ms) (latency.budget_ms, run.workers, or a lighter chain)"},
    {{LATE, TWO(UNFINISHED), .waited_ms = 70, .ran_ms = 28, CROWD},
     "late: views 1, 2 were not finished when their time was up; view 1 waited 70 ms for a worker "
     "and had run for 28 ms; 34 views were waiting, the worker spent 61 ms on fruit 4711"},
    {{PARTIAL, ONE(DISCARDED), .waited_ms = 60, CROWD},
     "partial: view 2 was discarded after waiting 60 ms, because it could no longer finish in "
     "time; "
     "34 views were waiting, the worker spent 61 ms on fruit 4711"},
    {{LATE, TWO(DISCARDED), .waited_ms = 60, CROWD},
     "late: views 1, 2 were discarded, the last after waiting 60 ms, because they could no longer "
     "finish in time; 34 views were waiting, the worker spent 61 ms on fruit 4711"},
    {{LATE, ONE(LOST), .name = "of tomorrow"},
     "late: view 2 was not judged whole (of tomorrow): this version does not know that reason"},
    /* the sender's time */
    {{LATE, CAUSE(ARRIVAL), .view = 3, .before = 2, .gap_ms = 212.4, .exposed_ms = NAN,
      .arrival_left_ms = 2},
     "late: view 3 arrived 212 ms after view 2 (CNN or camera), which left 2 of 100 ms until its "
     "deadline"},
    {{LATE, CAUSE(ARRIVAL), .view = 3, .before = 2, .gap_ms = 212.4, .exposed_ms = 20,
      .arrival_left_ms = -5, .views = {[CRN_CAUSE_UNFINISHED] = VIEW(3)}},
     "late: view 3 arrived 212 ms after view 2 (the CNN, or the way from it: exposed 20 ms after "
     "it), 5 ms past its deadline; also view 3 unfinished"},
    {{PARTIAL, CAUSE(ARRIVAL), .view = 3, .before = 2, .gap_ms = 212.4, .exposed_ms = 210,
      .arrival_left_ms = 2},
     "partial: view 3 arrived 212 ms after view 2 (the camera: exposed 210 ms after it), which "
     "left "
     "2 of 100 ms until its deadline"},
    {{LATE, CAUSE(ARRIVAL), .alone = true, .gap_ms = 180, .arrival_left_ms = 20},
     "late: view 0 arrived 180 ms after its exposure (CNN, or clocks that disagree), which left 20 "
     "of 100 ms until its deadline"},
    {{.kind = CRN_VERDICT_LATE, LEFT(12), CAUSE(DEADLINE)},
     "late: the deadline in a view's header left 12 of the budget's 100 ms (the sender's "
     "deadline_ns, or clocks that disagree)"},
    {{.kind = CRN_VERDICT_LATE, LEFT(-3.5), CAUSE(DEADLINE)},
     "late: the deadline in a view's header had passed 3.5 ms before the fruit closed (the "
     "sender's "
     "deadline_ns, or clocks that disagree)"},
    {{PARTIAL, ONE(MISSING), .open_ms = 400, .closed_by = "time"},
     "partial: view 2 did not come in the 400 ms from the fruit's first view until it closed (CNN, "
     "camera, or a message that was lost)"},
    {{PARTIAL, CAUSE(MISSING), .open_ms = 88, .closed_by = "deadline",
      .views = {[CRN_CAUSE_MISSING] = VIEW(1) | VIEW(2) | VIEW(3) | VIEW(5)}},
     "partial: views 1 to 3, 5 had not come when the deadline in a header closed the fruit, 88 ms "
     "after its first view (CNN or camera, or too early a deadline)"},
    {{PARTIAL, ONE(MISSING), .open_ms = 400, .closed_by = "time", .has_dated = true, .dated = 1,
      .age_ms = 612},
     "partial: view 2 did not come in the 400 ms from the fruit's first view until it closed (the "
     "CNN, or the way from it); view 1, the last that came, was exposed 612 ms before"},
    {{PARTIAL, ONE(MISSING), .open_ms = 400, .closed_by = "time", .has_dated = true, .age_ms = 30},
     "partial: view 2 did not come in the 400 ms from the fruit's first view until it closed (CNN, "
     "camera, or a message that was lost)"},
    {{PARTIAL, ONE(MISSING), .open_ms = 400, .closed_by = "time", .around = {.restarted = true}},
     "partial: view 2 did not come in the 400 ms from the fruit's first view until it closed (the "
     "sender was restarted: fruits after it have another epoch)"},
    {{PARTIAL, ONE(MISSING), .open_ms = 400, .closed_by = "time", .has_dated = true, .dated = 1,
      .age_ms = 3.6e6},
     "partial: view 2 did not come in the 400 ms from the fruit's first view until it closed (CNN, "
     "camera, or a message that was lost); view 1 is dated 3600000 ms before its reception: its "
     "sender's clock and this one disagree"},
    {{PARTIAL, ONE(FAILED), .on_processor = true, .around = {.on_device = 120}},
     "partial: the chain failed on view 2: the daemon's log has the error; it ran on the "
     "processor, 120 views of the 30 s before it on a device"},
    {{PARTIAL, ONE(FAILED), .on_processor = true},
     "partial: the chain failed on view 2: the daemon's log has the error"},
    {{PARTIAL, ONE(FAILED), .has_dated = true, .dated = 2, .age_ms = -80},
     "partial: the chain failed on view 2: the daemon's log has the error; view 2 is dated 80 ms "
     "after its reception: its sender's clock and this one disagree"},
    /* the sender's values */
    {{PARTIAL, ONE(NOT_FINITE), .name = "rot", .count = 7},
     "partial: view 2 holds 7 values in rot that are NaN or infinite: look at the CNN's weights "
     "and input"},
    {{PARTIAL, ONE(OUT_OF_RANGE), .name = "rot", .count = 1},
     "partial: view 2 holds 1 value in rot that is outside 0 to 1: does the CNN send logits rather "
     "than "
     "probabilities?"},
    {{PARTIAL, TWO(OUT_OF_RANGE), .name = "rot", .count = 3000},
     "partial: views 1, 2 hold values (view 1: 3000 in rot) that are outside 0 to 1: does the CNN "
     "send logits rather than probabilities?"},
    {{PARTIAL, ONE(ALL_ZERO), .count = 64},
     "partial: view 2 holds nothing but 0, the background's too: the CNN is dead"},
    {{PARTIAL, TWO(DIVIDED), .count = 64},
     "partial: the values of views 1, 2 sum to 1/255, not to 1: they were divided by 255 once too "
     "often"},
    {{PARTIAL, ONE(LABELS), .count = 64},
     "partial: the values of view 2 sum to small numbers, not to 255: labels or masks, where each "
     "class needs a channel in which 255 is certainty"},
    {{PARTIAL, ONE(PER_CENT), .count = 64},
     "partial: the values of view 2 sum to 100, not to 255: per cent, where 255 is certainty"},
    {{PARTIAL, ONE(WRONG_SUM), .count = 64},
     "partial: the values of view 2 sum to something other than 1: does the CNN end with a "
     "softmax? After sigmoids set ingest.sum: none"},
    {{PARTIAL, TWO(MASK_VALUES), .count = 48},
     "partial: views 1, 2 hold nothing but 0 and 1: in u8 maps 255 is certainty, not 1"},
    {{PARTIAL, ONE(MASK_VALUES), .count = 48},
     "partial: view 2 holds nothing but 0 and 1: in u8 maps 255 is certainty, not 1"},
    /* limits */
    {{PARTIAL, TWO(TRUNCATED)},
     "partial: a limit cut the defects of views 1, 2 (limits.points, limits.defects, or the "
     "classes' levels)"},
    {{PARTIAL, CAUSE(TRUNCATED)},
     "partial: its defects were left out for want of memory: the daemon's log says so"},
    {{PARTIAL, ONE(SKIPPED), .name = "ranklet"},
     "partial: view 2 went without ranklet, because less time was left than it recently took"},
    {{PARTIAL, TWO(SKIPPED), .name = "haar, ranklet"},
     "partial: views 1, 2 went without haar, ranklet, because less time was left than they "
     "recently "
     "took"},
    {{PARTIAL, CAUSE(SKIPPED), .name = "surface"},
     "partial: the fruit was not measured (surface), because its deadline came first, or less time "
     "was left than that recently took"},
    {{PARTIAL, CAUSE(SKIPPED), .name = "surface", .has_poses = true},
     "partial: the fruit was measured without the pose of some view (surface), because its "
     "deadline came first, or less time was left than that recently took"},
    {{.latency_ms = 120,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_SURFACE,
      .part_ms = 80},
     "over budget: joining its views to one surface took 80 of 100 ms"},
    {{.latency_ms = 120,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_POSE,
      .view = 3,
      .part_ms = 80},
     "over budget: finding the fruit in view 3 took 80 of 100 ms"},
    {{.latency_ms = 3,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_SURFACE,
      .part_ms = 2},
     "complete: 3 of 100 ms, most of it joining its views to one surface (2 ms)"},
    /* judged whole, in time or not */
    {{.latency_ms = 12.5,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_STEP,
      .part_ms = 8.1,
      .name = "ranklet"},
     "complete: 12.5 of 100 ms, most of it the ranklet step (8.1 ms)"},
    {{.latency_ms = 12.5,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_WAITS,
      .part_ms = 5},
     "complete: 12.5 of 100 ms, the largest part waiting between its steps (5 ms)"},
    {{.latency_ms = 90,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_QUEUE,
      .part_ms = 80,
      CROWD},
     "complete: 90 of 100 ms, most of it waiting for a worker (80 ms); 34 views were waiting, the "
     "worker spent 61 ms on fruit 4711"},
    {{.latency_ms = 0.0004,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_END,
      .part_ms = 0.0004},
     "complete: 0 of 100 ms, most of it handing over and publishing (0 ms)"},
    {{.latency_ms = 7.25,
      .budget_ms = NAN,
      .left_ms = 0,
      CAUSE(PART),
      .part = CRN_PART_STEP,
      .part_ms = 7.25,
      .name = "contours"},
     "complete: 7.25 ms, most of it the contours step (7.25 ms)"},
    {{.latency_ms = 105,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_STEP,
      .part_ms = 81,
      .name = "ranklet"},
     "over budget: the ranklet step took 81 of 100 ms"},
    {{.latency_ms = 105,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_QUEUE,
      .view = 2,
      .part_ms = 70,
      CROWD},
     "over budget: view 2 waited 70 of 100 ms for a worker; 34 views were waiting, the worker "
     "spent "
     "61 ms on fruit 4711"},
    {{.latency_ms = 105,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_WAITS,
      .view = 2,
      .part_ms = 60},
     "over budget: view 2 waited 60 of 100 ms between its steps, for a device or a worker"},
    {{.latency_ms = 140,
      .budget_ms = 100,
      .left_ms = 100,
      CAUSE(PART),
      .part = CRN_PART_END,
      .part_ms = 130,
      .around = {.published = 12}},
     "over budget: 130 of 100 ms passed between the end of its last view and its verdict, and 12 "
     "other verdicts left meanwhile: the line's thread waited (another process on its core, "
     "or "
     "a stopped machine)"},
    {{.stale = true, .latency_ms = 30, .budget_ms = 100, .left_ms = 20, CAUSE(DEADLINE)},
     "past its deadline: the deadline in a view's header left 20 of the budget's 100 ms (the "
     "sender's deadline_ns, or clocks that disagree)"},
    {{.kind = CRN_VERDICT_PARTIAL,
      .latency_ms = 140,
      .budget_ms = 100,
      .left_ms = 100,
      ONE(FAILED)},
     "partial: the chain failed on view 2: the daemon's log has the error; the verdict left 140 ms "
     "after the close, of 100 ms"},
    /* The line always wakes up a little after the time it asked for. */
    {{.kind = CRN_VERDICT_PARTIAL,
      .latency_ms = 100.4,
      .budget_ms = 100,
      .left_ms = 100,
      ONE(FAILED)},
     "partial: the chain failed on view 2: the daemon's log has the error"},
    {{PARTIAL, CAUSE(PART)}, "partial: the verdict does not say why"},
};

static void every_cause_has_its_sentence(void **state)
{
    (void)state;
    bool seen[CRN_CAUSES] = {false};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CRN_SENTENCE_BYTES];
        crn_sentence(&cases[i].of, text);
        assert_string_equal(text, cases[i].sentence);
        seen[cases[i].of.cause] = true;
    }
    for (int cause = 0; cause < CRN_CAUSES; cause++)
        if (!seen[cause] || !crn_cause_names[cause])
            fail_msg("cause %d (%s) has no case", cause, crn_cause_names[cause]);
}

/* Whatever a message is refused for, its sentence has that refusal's own hint. */
static void every_refusal_has_its_hint(void **state)
{
    (void)state;
    for (int why = CRN_REFUSAL_NONE + 1; why < CRN_REFUSALS; why++) {
        crn_diagnosis of = {PARTIAL, ONE(REFUSED)};
        char text[CRN_SENTENCE_BYTES];
        snprintf(of.name, sizeof of.name, "%s", crn_refusal_name((crn_refusal)why));
        crn_sentence(&of, text);
        assert_non_null(strstr(text, of.name));
        if (why < (int)CRN_WIRE_FAULTS)
            assert_non_null(strstr(text, crn_wire_fault_hints[why]));
        assert_null(strstr(text, "the daemon's log says"));
    }
}

static void a_long_sentence_is_cut(void **state)
{
    (void)state;
    crn_diagnosis of = {PARTIAL, CAUSE(NOT_FINITE), .count = UINT64_MAX};
    for (int cause = 0; cause < CRN_CAUSES; cause++)
        of.views[cause] = UINT64_C(0x5555555555555555);
    memset(of.name, 'x', sizeof of.name - 1);
    char text[CRN_SENTENCE_BYTES + 1];
    text[CRN_SENTENCE_BYTES] = '!';
    crn_sentence(&of, text);
    assert_int_equal(strlen(text), CRN_SENTENCE_BYTES - 1);
    assert_int_equal(text[CRN_SENTENCE_BYTES], '!');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cause_has_its_sentence),
        cmocka_unit_test(every_refusal_has_its_hint),
        cmocka_unit_test(a_long_sentence_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
