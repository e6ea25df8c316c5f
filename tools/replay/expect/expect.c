#include "tools/replay/expect/expect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/formats/verdict/fields.h"
#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/reader.h"
#include "stages/base/clock.h"
#include "tools/replay/expect/kept.h"
#include "tools/replay/filter.h"
#include "tools/common/verdicts/log_fruits.h"
#include "stages/base/buffer/array.h"

#define POLL_NS (50 * CRN_NS_PER_MS)

/* A fruit that was sent. */
typedef struct sent_fruit {
    crn_replay_fruit of;    /* epoch: index; first, to compare by */
    crn_kept_place verdict; /* the line's; size 0: none yet */
    bool expected;          /* the recorded run has it */
    bool unequal;
} sent_fruit;

struct crn_expect {
    sent_fruit *fruits; /* sorted once all are sent */
    size_t count;
    size_t judged;         /* fruits with a verdict of the line's */
    uint64_t start;        /* segment at which the line's log ended before */
    uint64_t log_bytes;    /* of the line's log when it was last read */
    crn_log_epochs epochs; /* of the recorded run */
    crn_kept_verdicts *kept;
};

/* --- fruits --- */

int crn_expect_sent(crn_expect *expect, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    if (crn_array_grow(&expect->fruits, expect->count, sizeof *expect->fruits) < 0)
        return -ENOMEM;
    expect->fruits[expect->count++] = (sent_fruit){.of = {lane, epoch, fruit}};
    return 0;
}

static sent_fruit *find_sent(const crn_expect *expect, uint64_t lane, uint64_t epoch,
                             uint64_t fruit)
{
    sent_fruit like = {.of = {(uint32_t)lane, epoch, fruit}};
    if (lane > UINT32_MAX || !expect->count)
        return NULL;
    return bsearch(&like, expect->fruits, expect->count, sizeof like, crn_replay_fruit_compare);
}

/* --- the line's verdicts --- */

typedef struct run {
    crn_expect *expect;
    const crn_expect_settings *settings;
    FILE *out;
    crn_expect_result *result;
    crn_difference_summary *summary; /* NULL: a line per difference */
    crn_error failure;               /* of a visitor, which a log's reader does not pass on */
} run;

/* Reads a log; 0, or a negative errno with *error. */
static int visit_log(run *r, const char *dir, uint64_t start, crn_log_visitor *visit, FILE *tell,
                     crn_error *error)
{
    r->failure.text[0] = '\0';
    int result = crn_log_visit(dir, start, visit, r, tell, error);
    if (result && r->failure.text[0])
        *error = r->failure;
    return result;
}

static int keep_verdict(void *context, const crn_log_fruit *key,
                        const crn_messagepack_json *verdict, const crn_logged_verdict *logged)
{
    run *r = context;
    (void)verdict;
    if (key->epoch < r->settings->run_epoch)
        return 0;
    sent_fruit *fruit =
        find_sent(r->expect, key->lane, key->epoch - r->settings->run_epoch, key->fruit);
    if (!fruit || fruit->verdict.size)
        return 0;
    int result = crn_kept_verdicts_add(r->expect->kept, logged->bytes, logged->size,
                                       &fruit->verdict, &r->failure);
    r->expect->judged += !result;
    return result;
}

/* Reads the line's log again if it has grown. 0 or a negative errno. */
static int read_line(run *r, crn_error *error)
{
    crn_expect *expect = r->expect;
    crn_verdict_log_files files;
    int result = crn_verdict_log_list(r->settings->got, &files, error);
    if (result)
        return result;
    bool grown = files.count && files.bytes != expect->log_bytes;
    expect->log_bytes = files.bytes;
    crn_verdict_log_files_done(&files);
    return grown ? visit_log(r, r->settings->got, expect->start, keep_verdict, NULL, error) : 0;
}

/* Why verdicts of the line are missing: what its log has and cannot be read, and nothing at all. */
static int explain_missing(run *r, crn_error *error)
{
    const crn_expect *expect = r->expect;
    if (expect->judged == expect->count)
        return 0;
    /* Keeps nothing twice. */
    (void)visit_log(r, r->settings->got, expect->start, keep_verdict, r->out, error);
    if (expect->judged > 0)
        return 0;
    return crn_error_set(error, -ENOENT,
                         "%s: the line logged no verdict of this run there: name its "
                         "publish.log.dir; if that is it, the line's own log says why it took "
                         "none of the views",
                         r->settings->got);
}

static int await_verdicts(run *r, bool (*give_up)(void *), void *context, crn_error *error)
{
    int64_t patience_ns = r->settings->wait_ms * CRN_NS_PER_MS;
    int64_t until_ns = crn_now_ns() + patience_ns;
    struct timespec pause = {0, POLL_NS};
    for (;;) {
        size_t before = r->expect->judged;
        int result = read_line(r, error);
        if (result || r->expect->judged == r->expect->count)
            return result;
        if (r->expect->judged > before)
            until_ns = crn_now_ns() + patience_ns;
        if (crn_now_ns() >= until_ns || give_up(context))
            return 0;
        nanosleep(&pause, NULL);
    }
}

/* --- the recorded run --- */

/* True for an epoch of this replay: both runs may be in one log. */
static bool is_own(const run *r, uint64_t epoch)
{
    const crn_expect *expect = r->expect;
    uint64_t last = expect->count ? expect->fruits[expect->count - 1].of.epoch : 0;
    return epoch >= r->settings->run_epoch && epoch - r->settings->run_epoch <= last;
}

static int collect_epoch(void *context, const crn_log_fruit *key,
                         const crn_messagepack_json *verdict, const crn_logged_verdict *logged)
{
    run *r = context;
    (void)verdict;
    (void)logged;
    return is_own(r, key->epoch) ? 0 : crn_log_epochs_add(&r->expect->epochs, key->epoch);
}

/* NULL: that run has no verdict. 0, or a negative errno, told in the run's failure. */
static int report_outlets(run *r, const crn_replay_fruit *of, uint64_t differences,
                          const int32_t outlet[2], const crn_messagepack_json *before,
                          const crn_messagepack_json *after)
{
    const crn_expect_settings *s = r->settings;
    if (!s->report)
        return 0;
    crn_comparison_key key = {of->lane,
                              s->epochs[of->epoch % s->epoch_count],
                              of->fruit,
                              differences,
                              {outlet[CRN_BEFORE], outlet[CRN_AFTER]}};
    return crn_comparison_report_add(s->report, &key, before, after, &r->failure);
}

/* Of a fruit that one run lacks, so that its outlets are not compared. */
static int report_fruit(run *r, const crn_replay_fruit *of, uint64_t differences,
                        const crn_messagepack_json *before, const crn_messagepack_json *after)
{
    static const int32_t none[2] = {CRN_NO_OUTLET, CRN_NO_OUTLET};
    return report_outlets(r, of, differences, none, before, after);
}

/* Begins the line of a difference that belongs to no class. */
static FILE *begin_line(const run *r, const crn_replay_fruit *of)
{
    FILE *out = r->summary ? crn_difference_summary_lines(r->summary) : r->out;
    if (r->summary)
        crn_difference_summary_difference(r->summary, NULL, 0);
    fprintf(out, "lane %" PRIu32 ", fruit %" PRIu64 ": ", of->lane, of->fruit);
    r->result->counts.differences++;
    return out;
}

static void tell_lone(const run *r, const crn_replay_fruit *of, const char *where)
{
    fprintf(begin_line(r, of), "%s\n", where);
    if (r->summary)
        crn_difference_summary_end_fruit(r->summary, of->lane, of->fruit);
}

/* The verdict's recipe; empty: none. */
static void read_recipe(const msgpack_object *verdict, char recipe[CRN_RECIPE_NAME_BYTES])
{
    const msgpack_object *value = crn_value_get(verdict, CRN_KEY(verdict, recipe));
    bool text = value && value->type == MSGPACK_OBJECT_STR;
    snprintf(recipe, CRN_RECIPE_NAME_BYTES, "%.*s", text ? (int)value->via.str.size : 0,
             text ? value->via.str.ptr : "");
}

/* Of an unequal fruit: another recipe may be all that there is to find. */
static void note_recipes(crn_expect_result *result, const msgpack_object *expected,
                         const msgpack_object *verdict)
{
    char before[CRN_RECIPE_NAME_BYTES], now[CRN_RECIPE_NAME_BYTES];
    read_recipe(expected, before);
    read_recipe(verdict, now);
    if (strcmp(before, now) == 0 || result->other_recipe++ > 0)
        return;
    strcpy(result->recipe_expected, before);
    strcpy(result->recipe_got, now);
}

/* The line's verdict on a fruit, valid until the next one is read. 0, or a negative errno, told in
 * the run's failure; -EBADMSG: it is none. */
static int read_verdict(run *r, const sent_fruit *fruit, crn_messagepack_json *ret_packed)
{
    const unsigned char *bytes;
    int result = crn_kept_verdicts_get(r->expect->kept, &fruit->verdict, &bytes, &r->failure);
    return result ? result
                  : crn_messagepack_json_init(ret_packed, bytes, fruit->verdict.size, &r->failure);
}

/* Where both verdicts send the fruit. 0 or -ENOMEM. */
static int compare_outlets(run *r, const crn_replay_fruit *of, const crn_messagepack_json *expected,
                           const crn_messagepack_json *got, int32_t ret_outlet[2])
{
    const crn_outlets *outlets = r->settings->outlets;
    ret_outlet[CRN_BEFORE] = ret_outlet[CRN_AFTER] = CRN_NO_OUTLET;
    int result = outlets ? crn_expect_outlets_decide(outlets, expected, got, ret_outlet) : 0;
    if (result || ret_outlet[CRN_BEFORE] == CRN_NO_OUTLET)
        return result;
    if (crn_outlet_changes_add(&r->result->outlets, ret_outlet))
        fprintf(begin_line(r, of), "outlet %s, expected %s\n",
                outlets->names.item[ret_outlet[CRN_AFTER]],
                outlets->names.item[ret_outlet[CRN_BEFORE]]);
    return 0;
}

static int compare_fruit(run *r, sent_fruit *fruit, const crn_messagepack_json *expected)
{
    int32_t outlet[CRN_COMPARED_RUNS];
    crn_difference_fruit name = {fruit->of.lane, fruit->of.fruit};
    uint64_t before = r->result->counts.differences;
    crn_messagepack_json packed;
    int result = read_verdict(r, fruit, &packed);
    if (result)
        return result;
    result =
        crn_difference_find(&name, &expected->tree.data, &packed.tree.data, r->settings->tolerance,
                            r->summary ? crn_difference_summary_lines(r->summary) : r->out,
                            &r->result->counts, r->summary);
    if (!result)
        result = compare_outlets(r, &fruit->of, expected, &packed, outlet);
    if (r->summary)
        crn_difference_summary_end_fruit(r->summary, name.lane, name.fruit);
    uint64_t differences = r->result->counts.differences - before;
    if (differences)
        note_recipes(r->result, &expected->tree.data, &packed.tree.data);
    if (!result)
        result = report_outlets(r, &fruit->of, differences, outlet, expected, &packed);
    crn_messagepack_json_done(&packed);
    r->result->fruits++;
    fruit->unequal |= differences > 0;
    return result;
}

static int compare_expected(void *context, const crn_log_fruit *key,
                            const crn_messagepack_json *verdict, const crn_logged_verdict *logged)
{
    run *r = context;
    size_t epoch = 0;
    (void)logged;
    if (is_own(r, key->epoch))
        return 0;
    bool known = crn_log_epochs_find(&r->expect->epochs, key->epoch, &epoch);
    sent_fruit *fruit = known ? find_sent(r->expect, key->lane, epoch, key->fruit) : NULL;
    if (!fruit && known && r->settings->whole) {
        crn_replay_fruit of = {(uint32_t)key->lane, epoch, key->fruit};
        tell_lone(r, &of, "only in the recorded run");
        r->result->unequal++;
        return report_fruit(r, &of, 1, verdict, NULL);
    }
    if (!fruit) {
        r->result->unsent++;
        return 0;
    }
    if (fruit->expected) {
        tell_lone(r, &fruit->of, "the recorded run has a second verdict");
        fruit->unequal = true;
        if (r->settings->report)
            crn_comparison_report_second(r->settings->report);
        return 0;
    }
    fruit->expected = true;
    return fruit->verdict.size ? compare_fruit(r, fruit, verdict)
                               : report_fruit(r, &fruit->of, 1, verdict, NULL);
}

/* Of a fruit that the recorded run does not have. */
static int report_unexpected(run *r, const sent_fruit *fruit)
{
    crn_messagepack_json packed;
    if (!r->settings->report || !fruit->verdict.size)
        return report_fruit(r, &fruit->of, 1, NULL, NULL);
    int result = read_verdict(r, fruit, &packed);
    if (result)
        return result;
    result = report_fruit(r, &fruit->of, 1, NULL, &packed);
    crn_messagepack_json_done(&packed);
    return result;
}

/* Fruits that were sent and lack a verdict. 0 or a negative errno with *error. */
static int tell_missing(run *r, crn_error *error)
{
    int result = 0;
    for (size_t i = 0; i < r->expect->count && !result; i++) {
        sent_fruit *fruit = &r->expect->fruits[i];
        bool lacks = !fruit->verdict.size || !fruit->expected;
        if (lacks)
            tell_lone(r, &fruit->of,
                      fruit->verdict.size ? "only in this run"
                      : fruit->expected   ? "only in the recorded run: the line gave no verdict"
                                          : "in neither run's verdicts");
        if (!fruit->expected)
            result = report_unexpected(r, fruit);
        r->result->unequal += lacks || fruit->unequal;
    }
    if (result)
        *error = r->failure;
    return result;
}

static int run_all(run *r, bool (*give_up)(void *context), void *context, crn_error *error)
{
    crn_expect *expect = r->expect;
    expect->epochs.recorded = r->settings->epochs;
    expect->epochs.recorded_count = r->settings->epoch_count;
    if (expect->count)
        qsort(expect->fruits, expect->count, sizeof *expect->fruits, crn_replay_fruit_compare);
    int result = await_verdicts(r, give_up, context, error);
    if (!result && !give_up(context))
        result = explain_missing(r, error);
    if (!result)
        result = visit_log(r, r->settings->expected, 0, collect_epoch, r->out, error);
    crn_log_epochs_sort(&expect->epochs);
    if (!result)
        result = visit_log(r, r->settings->expected, 0, compare_expected, NULL, error);
    return result ? result : tell_missing(r, error);
}

int crn_expect_run(crn_expect *expect, const crn_expect_settings *settings,
                   bool (*give_up)(void *context), void *context, FILE *out,
                   crn_expect_result *ret_result, crn_error *error)
{
    *ret_result = (crn_expect_result){0};
    run r = {.expect = expect, .settings = settings, .out = out, .result = ret_result};
    if (!settings->all && !(r.summary = crn_difference_summary_create()))
        return crn_error_set(error, -ENOMEM, "no memory to compare verdicts");
    int result = run_all(&r, give_up, context, error);
    if (!result && r.summary && crn_difference_summary_print(r.summary, ret_result->fruits, out))
        fprintf(out, "--all prints each difference, a line each\n");
    crn_difference_summary_free(&r.summary);
    return result;
}

void crn_expect_print(const crn_expect_settings *settings, const crn_expect_result *result,
                      FILE *out)
{
    if (settings->outlets)
        crn_expect_outlets_print(settings->outlets, &result->outlets, out);
    fprintf(out, "%" PRIu64 " fruits and %" PRIu64 " defects compared with %s: ", result->fruits,
            result->counts.defects, settings->expected);
    if (result->counts.differences)
        fprintf(out, "%" PRIu64 " difference%s in %" PRIu64 " fruit%s", result->counts.differences,
                result->counts.differences == 1 ? "" : "s", result->unequal,
                result->unequal == 1 ? "" : "s");
    else
        fprintf(out, "all equal");
    if (result->unsent)
        fprintf(out, "; %" PRIu64 " of its fruits were not sent", result->unsent);
    fputc('\n', out);
    if (result->other_recipe)
        fprintf(out,
                "%" PRIu64 " of the fruits that differ had another recipe: '%s' in %s, '%s' in %s "
                "('': none); switch to it (cernitactl recipe), and replay its fruits alone\n",
                result->other_recipe, result->recipe_expected, settings->expected,
                result->recipe_got, settings->got);
}

/* --- open and close --- */

int crn_expect_open(const char *expected, const char *got, crn_expect **ret_expect,
                    crn_error *error)
{
    crn_verdict_reader *reader = NULL;
    crn_verdict_log_files files;
    int r = crn_verdict_reader_open(expected, &reader, error);
    if (r)
        return r;
    crn_verdict_reader_close(&reader);
    r = crn_verdict_log_list(got, &files, error);
    if (r)
        return r;
    crn_expect *expect = calloc(1, sizeof *expect);
    if (expect)
        expect->start = files.last_number;
    crn_verdict_log_files_done(&files);
    if (!expect)
        return crn_error_set(error, -ENOMEM, "no memory to compare verdicts");
    r = crn_kept_verdicts_open(&expect->kept, error);
    if (r)
        crn_expect_close(&expect);
    else
        *ret_expect = expect;
    return r;
}

void crn_expect_close(crn_expect **expect)
{
    crn_expect *e = *expect;
    if (!e)
        return;
    crn_kept_verdicts_close(&e->kept);
    free(e->fruits);
    crn_log_epochs_done(&e->epochs);
    free(e);
    *expect = NULL;
}
