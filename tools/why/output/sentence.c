#include "tools/why/output/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/formats/view/reason.h"
#include "src/formats/view/refusal.h"
#include "stages/base/buffer/text.h"

#define VIEW_LIST_BYTES 256

/* A view dated after its reception, or so long before it, was dated by another clock than the
 * daemon's. The alert CernitaClocksApart has the same limit. */
#define AHEAD_MS  10
#define BEHIND_MS 10000

/* The sentence under construction; text that does not fit is cut. */
typedef struct sentence {
    crn_text text;
    const crn_diagnosis *of;
    char views[VIEW_LIST_BYTES]; /* to which the cause applies */
    bool many;                   /* more than one */
} sentence;

#define SAY(...) crn_text_add(&s->text, __VA_ARGS__)

typedef struct rounded {
    char text[24];
} rounded;

/* Three digits, and no more than a person reads. */
static rounded of_ms(double ms)
{
    rounded r;
    bool large = fabs(ms) >= 99.95, small = fabs(ms) < 1;
    double value = fabs(ms) < 0.005 ? 0 : ms;
    snprintf(r.text, sizeof r.text, "%.*g", large ? 15 : small ? 2 : 3, large ? round(ms) : value);
    return r;
}

#define MS(value) of_ms(value).text

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "view 2", "views 1, 4", "views 0 to 3, 7" */
static void list_views(uint64_t views, char text[VIEW_LIST_BYTES])
{
    crn_text list = crn_text_in(text, VIEW_LIST_BYTES);
    const char *between = " ";
    crn_text_add(&list, "view%s", views & (views - 1) ? "s" : "");
    for (uint32_t v = 0; v < CRN_FRUIT_VIEWS_MAX; v++) {
        if (!(views >> v & 1))
            continue;
        uint32_t last = v;
        while (last + 1 < CRN_FRUIT_VIEWS_MAX && views >> (last + 1) & 1)
            last++;
        bool is_range = last >= v + 2;
        crn_text_add(&list, is_range ? "%s%u to %u" : "%s%u", between, v, last);
        between = ", ";
        v = is_range ? last : v;
    }
}

/* --- what else went on --- */

/* Why a view waited for a worker although no view ran. */
#define IDLE ": did another process have the cores?"

/* "; 34 views were waiting, the worker spent 61 ms on fruit 4711" */
static void say_surroundings(sentence *s, const char *hint)
{
    const crn_surroundings *around = &s->of->around;
    if (!around->waiting && !(around->longest_ms > 0)) {
        SAY("; the log shows no other view at that time%s", hint);
        return;
    }
    SAY("; ");
    if (around->waiting)
        SAY("%u view%s %s waiting", around->waiting, plural(around->waiting),
            around->waiting == 1 ? "was" : "were");
    double usual_ms = crn_surroundings_usual_ms(around);
    if (!(around->longest_ms > 0)) {
        SAY(", and the log shows none that ran%s", hint);
        return;
    }
    if (usual_ms > 0) {
        SAY("%sthe %u views that ran took %s ms each", around->waiting ? ", " : "", around->ran,
            MS(usual_ms));
        return;
    }
    SAY("%s%s spent %s ms on ", around->waiting ? ", " : "",
        around->longest_on_device ? "the device"
        : around->running > 1     ? "one of the workers"
                                  : "the worker",
        MS(around->longest_ms));
    if (around->longest_own)
        SAY("its view %" PRIu64, around->longest_view);
    else
        SAY("fruit %" PRIu64, around->longest_fruit);
    if (around->longest_lane != around->lane)
        SAY(" of lane %" PRIu64, around->longest_lane);
}

/* Did this view take long, or do all? */
static void say_average(sentence *s)
{
    const crn_surroundings *around = &s->of->around;
    if (around->ran)
        SAY("; %u other view%s around that time ran for %s ms on average", around->ran,
            plural(around->ran), MS(around->ran_ms / around->ran));
    else
        SAY(" (latency.budget_ms, run.workers, or a lighter chain)");
}

/* The deadline left less than the budget, although not so much less that it is to blame. */
static void say_limit(sentence *s)
{
    if (s->of->left_ms < s->of->budget_ms - 0.5)
        SAY(" (the deadline in a header left %s of %s ms)", MS(s->of->left_ms),
            MS(s->of->budget_ms));
}

/* --- causes that a view has --- */

static void say_refused(sentence *s)
{
    const char *why = s->of->name, *hint = crn_refusal_hint(why);
    if (!hint)
        hint = "the daemon's log says what is wrong with it";
    if (s->many)
        SAY("the messages of %s were refused (%s): %s", s->views, why, hint);
    else
        SAY("%s's message was refused (%s): %s", s->views, why, hint);
}

static void say_evicted(sentence *s)
{
    SAY("%s lost %s to views of higher priority%s after waiting %s ms", s->views,
        s->many ? "their slots" : "its slot", s->many ? ", the last" : "", MS(s->of->waited_ms));
    say_surroundings(s, " (limits.slots, run.workers)");
}

static void say_unfinished(sentence *s)
{
    const crn_diagnosis *d = s->of;
    bool waited = d->waited_ms >= d->ran_ms;
    if (s->many)
        SAY("%s were not finished when their time was up; ", s->views);
    if (waited)
        SAY("view %u waited %s ms for a worker and had run for %s ms", d->view, MS(d->waited_ms),
            MS(d->ran_ms));
    else
        SAY("view %u had run for %s ms, after waiting %s ms", d->view, MS(d->ran_ms),
            MS(d->waited_ms));
    if (!s->many)
        SAY(", when its time was up");
    say_limit(s);
    if (waited)
        say_surroundings(s, IDLE);
    else
        say_average(s);
}

static void say_discarded(sentence *s)
{
    SAY("%s %s discarded%s after waiting %s ms, because %s could no longer finish in time",
        s->views, s->many ? "were" : "was", s->many ? ", the last" : "", MS(s->of->waited_ms),
        s->many ? "they" : "it");
    say_limit(s);
    say_surroundings(s, IDLE);
}

static bool clocks_disagree(const crn_diagnosis *d)
{
    return d->has_dated && (d->age_ms < -AHEAD_MS || d->age_ms > BEHIND_MS);
}

/* The views that came were old already: so are those that did not, by the time they come. */
static bool is_late_by_itself(const crn_diagnosis *d)
{
    return d->has_dated && d->age_ms >= d->open_ms / 2 && !clocks_disagree(d);
}

static void say_missing(sentence *s)
{
    const crn_diagnosis *d = s->of;
    if (!strcmp(d->closed_by, "deadline"))
        crn_text_add(
            &s->text,
            "%s had not come when the deadline in a header closed the fruit, %s ms after its first "
            "view (CNN or camera, or too early a deadline)",
            s->views, MS(d->open_ms));
    else
        crn_text_add(
            &s->text,
            "%s did not come in the %s ms from the fruit's first view until it closed (%s)",
            s->views, MS(d->open_ms),
            d->around.restarted    ? "the sender was restarted: fruits after it have another epoch"
            : is_late_by_itself(d) ? "the CNN, or the way from it"
                                   : "CNN, camera, or a message that was lost");
    if (is_late_by_itself(d))
        SAY("; view %u, the last that came, was exposed %s ms before", d->dated, MS(d->age_ms));
}

static void say_values(sentence *s)
{
    const crn_diagnosis *d = s->of;
    const char *values = d->cause == CRN_CAUSE_NOT_FINITE ? "NaN or infinite" : "outside 0 to 1";
    bool one = d->count == 1 && !s->many;
    if (s->many)
        SAY("%s hold values (view %u: %" PRIu64 "%s%s)", s->views, d->view, d->count,
            *d->name ? " in " : "", d->name);
    else
        SAY("%s holds %" PRIu64 " value%s%s%s", s->views, d->count, plural(d->count),
            *d->name ? " in " : "", d->name);
    SAY(" that %s %s: %s", one ? "is" : "are", values,
        d->cause == CRN_CAUSE_NOT_FINITE ? "look at the CNN's weights and input"
                                         : "does the CNN send logits rather than probabilities?");
}

static void say_skipped(sentence *s)
{
    if (s->of->views[CRN_CAUSE_SKIPPED])
        SAY("%s went without %s, because less time was left than %s recently took", s->views,
            *s->of->name ? s->of->name : "an optional step",
            strchr(s->of->name, ',') ? "they" : "it");
    else
        SAY("%s (surface), because its deadline came first, or less time was left than that "
            "recently took",
            s->of->has_poses ? "the fruit was measured without the pose of some view"
                             : "the fruit was not measured");
    say_limit(s);
}

static void say_truncated(sentence *s)
{
    if (s->of->views[CRN_CAUSE_TRUNCATED])
        crn_text_add(
            &s->text,
            "a limit cut the defects of %s (limits.points, limits.defects, or the classes' levels)",
            s->views);
    else
        SAY("its defects were left out for want of memory: the daemon's log says so");
}

/* --- causes that a view's times do not show --- */

static void say_arrival(sentence *s)
{
    const crn_diagnosis *d = s->of;
    if (d->alone) {
        SAY("view %u arrived %s ms after its exposure (CNN, or clocks that disagree)", d->view,
            MS(d->gap_ms));
    } else {
        SAY("view %u arrived %s ms after view %u ", d->view, MS(d->gap_ms), d->before);
        if (isnan(d->exposed_ms))
            SAY("(CNN or camera)");
        else if (d->exposed_ms < d->gap_ms / 2)
            SAY("(the CNN, or the way from it: exposed %s ms after it)", MS(d->exposed_ms));
        else
            SAY("(the camera: exposed %s ms after it)", MS(d->exposed_ms));
    }
    if (d->arrival_left_ms > 0)
        SAY(", which left %s of %s ms until its deadline", MS(d->arrival_left_ms),
            MS(d->budget_ms));
    else
        SAY(", %s ms past its deadline", MS(-d->arrival_left_ms));
}

static void say_deadline(sentence *s)
{
    const crn_diagnosis *d = s->of;
    if (d->left_ms > 0)
        SAY("the deadline in a view's header left %s of the budget's %s ms", MS(d->left_ms),
            MS(d->budget_ms));
    else
        SAY("the deadline in a view's header had passed %s ms before the fruit closed",
            MS(-d->left_ms));
    SAY(" (the sender's deadline_ns, or clocks that disagree)");
}

static void say_open_fruits(sentence *s)
{
    const crn_surroundings *around = &s->of->around;
    crn_text_add(
        &s->text,
        "it was judged early, %s ms after its first view, because limits.open_fruits was reached",
        MS(s->of->open_ms));
    if (around->open)
        SAY(" (%u other fruit%s open, of which %u lacked views)", around->open,
            around->open == 1 ? " was" : "s were", around->lacking);
    SAY(": raise it, or see why views do not come");
}

static void name_part(sentence *s)
{
    if (s->of->part == CRN_PART_STEP)
        SAY("the %s step", s->of->name);
    else if (s->of->part == CRN_PART_POSE)
        SAY("finding the fruit in view %u", s->of->view);
    else
        SAY("%s", s->of->part == CRN_PART_SURFACE ? "joining its views to one surface"
                  : s->of->part == CRN_PART_QUEUE ? "waiting for a worker"
                  : s->of->part == CRN_PART_WAITS ? "waiting between its steps"
                                                  : "handing over and publishing");
}

static void say_part(sentence *s)
{
    const crn_diagnosis *d = s->of;
    switch (d->part) {
    case CRN_PART_STEP:
    case CRN_PART_POSE:
    case CRN_PART_SURFACE:
        name_part(s);
        SAY(" took %s of %s ms", MS(d->part_ms), MS(d->budget_ms));
        break;
    case CRN_PART_QUEUE:
        SAY("view %u waited %s of %s ms for a worker", d->view, MS(d->part_ms), MS(d->budget_ms));
        say_surroundings(s, IDLE);
        break;
    case CRN_PART_WAITS:
        SAY("view %u waited %s of %s ms between its steps, for a device or a worker", d->view,
            MS(d->part_ms), MS(d->budget_ms));
        break;
    default:
        crn_text_add(
            &s->text,
            "%s of %s ms passed between the end of its last view and its verdict, and %u other "
            "verdict%s left meanwhile: the line's thread waited (another process on its core, "
            "or a stopped machine)",
            MS(d->part_ms), MS(d->budget_ms), d->around.published, plural(d->around.published));
    }
}

/* A fruit with which nothing is wrong. */
static void say_complete(sentence *s)
{
    const crn_diagnosis *d = s->of;
    SAY("%s", MS(d->latency_ms));
    if (isfinite(d->budget_ms))
        SAY(" of %s", MS(d->budget_ms));
    SAY(" ms, %s ", d->part_ms >= d->latency_ms / 2 ? "most of it" : "the largest part");
    name_part(s);
    SAY(" (%s ms)", MS(d->part_ms));
    if (d->part == CRN_PART_QUEUE && d->part_ms >= 1)
        say_surroundings(s, IDLE);
}

/* --- the whole --- */

static void say_stop(sentence *s)
{
    SAY("the daemon was stopped, which closed the fruit %s ms after its first view",
        MS(s->of->open_ms));
}

static void say_device_lost(sentence *s)
{
    SAY("%s %s on a device that was lost: the daemon's log says when and why", s->views,
        s->many ? "were" : "was");
}

static void say_failed(sentence *s)
{
    SAY("the chain failed on %s: the daemon's log has the error", s->views);
}

static void say_no_slot(sentence *s)
{
    SAY("no free slot for %s", s->views);
    say_surroundings(s, " (limits.slots, run.workers)");
}

static void say_lost(sentence *s)
{
    crn_view_reason reason = crn_view_reason_find(s->of->name);
    SAY("%s %s not judged whole (%s): %s", s->views, s->many ? "were" : "was", s->of->name,
        reason ? crn_view_reason_meanings[reason] : "this version does not know that reason");
}

static void say_mask_values(sentence *s)
{
    SAY("%s hold%s nothing but 0 and 1: in u8 maps 255 is certainty, not 1", s->views,
        s->many ? "" : "s");
}

static void say_all_zero(sentence *s)
{
    SAY("%s hold%s nothing but 0, the background's too: the CNN is dead", s->views,
        s->many ? "" : "s");
}

/* Maps of another scale. */
static void say_scale(sentence *s)
{
    static const char *const scales[CRN_CAUSES] = {
        [CRN_CAUSE_DIVIDED] = "1/255, not to 1: they were divided by 255 once too often",
        [CRN_CAUSE_LABELS] = "small numbers, not to 255: labels or masks, where each class needs "
                             "a channel in which 255 is certainty",
        [CRN_CAUSE_PER_CENT] = "100, not to 255: per cent, where 255 is certainty",
        [CRN_CAUSE_WRONG_SUM] = "something other than 1: does the CNN end with a softmax? After "
                                "sigmoids set ingest.sum: none",
    };
    SAY("the values of %s sum to %s", s->views, scales[s->of->cause]);
}

/* Nothing happened to any view. */
static void say_no_cause(sentence *s)
{
    if (s->of->latency_ms > s->of->budget_ms)
        say_part(s);
    else if (s->of->kind == CRN_VERDICT_COMPLETE)
        say_complete(s);
    else
        SAY("the verdict does not say why");
}

static void say_cause(sentence *s)
{
    static void (*const sayings[])(sentence *) = {
        [CRN_CAUSE_OPEN_FRUITS] = say_open_fruits,
        [CRN_CAUSE_STOP] = say_stop,
        [CRN_CAUSE_DEVICE_LOST] = say_device_lost,
        [CRN_CAUSE_FAILED] = say_failed,
        [CRN_CAUSE_REFUSED] = say_refused,
        [CRN_CAUSE_NO_SLOT] = say_no_slot,
        [CRN_CAUSE_EVICTED] = say_evicted,
        [CRN_CAUSE_ARRIVAL] = say_arrival,
        [CRN_CAUSE_DEADLINE] = say_deadline,
        [CRN_CAUSE_UNFINISHED] = say_unfinished,
        [CRN_CAUSE_DISCARDED] = say_discarded,
        [CRN_CAUSE_LOST] = say_lost,
        [CRN_CAUSE_MISSING] = say_missing,
        [CRN_CAUSE_NOT_FINITE] = say_values,
        [CRN_CAUSE_OUT_OF_RANGE] = say_values,
        [CRN_CAUSE_MASK_VALUES] = say_mask_values,
        [CRN_CAUSE_ALL_ZERO] = say_all_zero,
        [CRN_CAUSE_DIVIDED] = say_scale,
        [CRN_CAUSE_LABELS] = say_scale,
        [CRN_CAUSE_PER_CENT] = say_scale,
        [CRN_CAUSE_WRONG_SUM] = say_scale,
        [CRN_CAUSE_TRUNCATED] = say_truncated,
        [CRN_CAUSE_SKIPPED] = say_skipped,
        [CRN_CAUSE_PART] = say_no_cause,
    };
    sayings[s->of->cause](s);
}

/* The other views that are not whole, by cause. */
static void say_others(sentence *s)
{
    const char *before = "; also ";
    for (int cause = 0; cause < CRN_CAUSE_PART; cause++) {
        char views[VIEW_LIST_BYTES];
        if (cause == (int)s->of->cause || !s->of->views[cause])
            continue;
        list_views(s->of->views[cause], views);
        SAY("%s%s %s", before, views, crn_cause_names[cause]);
        before = ", ";
    }
}

void crn_sentence(const crn_diagnosis *diagnosis, char text[CRN_SENTENCE_BYTES])
{
    sentence s = {.text = crn_text_in(text, CRN_SENTENCE_BYTES), .of = diagnosis};
    uint64_t views = diagnosis->views[diagnosis->cause];
    list_views(views, s.views);
    s.many = views & (views - 1);
    bool is_late = diagnosis->latency_ms > diagnosis->budget_ms;
    const char *kind = crn_verdict_kind_names[diagnosis->kind];
    if (diagnosis->kind == CRN_VERDICT_COMPLETE && is_late)
        kind = "over budget";
    else if (diagnosis->kind == CRN_VERDICT_COMPLETE && diagnosis->stale)
        kind = "past its deadline";
    *text = '\0';
    crn_text_add(&s.text, "%s: ", kind);
    say_cause(&s);
    say_others(&s);
    /* The line always wakes up a little after the time it asked for. */
    bool by_far = diagnosis->latency_ms >= diagnosis->budget_ms + 1;
    if (diagnosis->kind != CRN_VERDICT_COMPLETE && by_far)
        crn_text_add(&s.text, "; the verdict left %s ms after the close, of %s ms",
                     MS(diagnosis->latency_ms), MS(diagnosis->budget_ms));
    if (diagnosis->on_processor && diagnosis->around.on_device)
        crn_text_add(
            &s.text, "; it ran on the processor, %u view%s of the %d s before it on a device",
            diagnosis->around.on_device, plural(diagnosis->around.on_device), CRN_DEVICE_BEFORE_S);
    if (clocks_disagree(diagnosis))
        crn_text_add(
            &s.text,
            "; view %u is dated %s ms %s its reception: its sender's clock and this one disagree",
            diagnosis->dated, MS(fabs(diagnosis->age_ms)),
            diagnosis->age_ms < 0 ? "after" : "before");
}
