#include "tools/why/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "stages/base/clock.h"
#include "tools/why/cause/timeline.h"

int crn_scan_open(crn_scan *ret_scan, const char *dir, crn_error *error)
{
    memset(ret_scan, 0, sizeof *ret_scan);
    if (crn_sequence_check_create(&ret_scan->sequences) < 0)
        return crn_error_set(error, -ENOMEM, "%s: no memory to read it", dir);
    return crn_verdict_reader_open(dir, &ret_scan->reader, error);
}

void crn_scan_close(crn_scan *scan)
{
    crn_verdict_reader_close(&scan->reader);
    crn_sequence_check_free(&scan->sequences);
}

static void cover_lane(crn_coverage *coverage, uint64_t lane)
{
    for (uint32_t i = 0; i < coverage->lane_count; i++)
        if (coverage->lanes[i] == lane)
            return;
    if (coverage->lane_count < CRN_COVERAGE_LANES)
        coverage->lanes[coverage->lane_count++] = lane;
}

static void cover(crn_scan *scan, const crn_decoded *verdict)
{
    crn_coverage *coverage = &scan->coverage;
    uint64_t published_ns = verdict->published_ns, first_lost;
    if (!coverage->verdicts || published_ns < coverage->first_ns)
        coverage->first_ns = published_ns;
    if (published_ns > coverage->last_ns)
        coverage->last_ns = published_ns;
    coverage->verdicts++;
    cover_lane(coverage, verdict->lane);
    crn_sequence_check_run(scan->sequences, verdict->run);
    crn_sequence_check_verdict(scan->sequences, verdict->lane, verdict->sequence, &first_lost);
    crn_timeline timeline;
    crn_timeline_place(verdict, &timeline);
    int64_t life_ns = timeline.published_ns - timeline.opened_ns;
    coverage->longest_ns = life_ns > coverage->longest_ns ? life_ns : coverage->longest_ns;
}

int crn_scan_next(crn_scan *scan, crn_decoded **ret_verdict, crn_error *error)
{
    crn_logged_verdict logged;
    int r = crn_verdict_reader_next(scan->reader, &logged, error);
    if (r <= 0)
        return r;
    crn_messagepack_json packed;
    crn_error why = {""};
    r = crn_messagepack_json_init(&packed, logged.bytes, logged.size, &why);
    if (r == 0) {
        r = crn_decode_head(&packed, ret_verdict, &why);
        crn_messagepack_json_done(&packed);
    }
    if (r < 0)
        return crn_error_set(error, r, "a verdict of lane %" PRIu32 " cannot be read: %s",
                             logged.lane, why.text);
    cover(scan, *ret_verdict);
    return 1;
}

void crn_time_text(uint64_t realtime_ns, char text[CRN_TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)(realtime_ns / (uint64_t)CRN_NS_PER_S);
    unsigned ms = (unsigned)(realtime_ns % (uint64_t)CRN_NS_PER_S / (uint64_t)CRN_NS_PER_MS);
    struct tm local;
    char date[CRN_TIME_TEXT_BYTES - 8];
    if (!localtime_r(&seconds, &local) || !strftime(date, sizeof date, "%F %T", &local))
        strcpy(date, "-");
    snprintf(text, CRN_TIME_TEXT_BYTES, "%s.%03u", date, ms);
}

void crn_coverage_print(const crn_scan *scan, FILE *out)
{
    const crn_coverage *coverage = &scan->coverage;
    const crn_sequence_check_stats *stats = crn_sequence_check_get_stats(scan->sequences);
    char first[CRN_TIME_TEXT_BYTES], last[CRN_TIME_TEXT_BYTES];
    crn_time_text(coverage->first_ns, first);
    crn_time_text(coverage->last_ns, last);
    if (!coverage->verdicts) {
        fprintf(out, "there is no verdict yet\n");
        return;
    }
    fprintf(out, "the log covers %s to %s: %" PRIu64 " verdict%s, lane%s", first, last,
            coverage->verdicts, coverage->verdicts == 1 ? "" : "s", stats->lanes == 1 ? "" : "s");
    for (uint32_t i = 0; i < coverage->lane_count; i++)
        fprintf(out, "%s %" PRIu64, i ? "," : "", coverage->lanes[i]);
    if (stats->lanes > coverage->lane_count)
        fprintf(out, " and %" PRIu64 " more", stats->lanes - coverage->lane_count);
    fprintf(out, ", %" PRIu64 " run%s of the daemon", stats->runs, stats->runs == 1 ? "" : "s");
    if (stats->lost)
        fprintf(out, "; %" PRIu64 " verdict%s missing from it (sequence)", stats->lost,
                stats->lost == 1 ? " is" : "s are");
    fputc('\n', out);
}
