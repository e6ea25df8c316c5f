#include "src/monitor/http/responses/alarms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/monitor/alarms/text.h"
#include "src/monitor/http/responses/pieces.h"
#include "stages/base/clock.h"

/* A list being read. */
typedef struct alarm_page {
    crn_piece_source source;
    crn_alarms *alarms;
    crn_alarm_range kept; /* as of the request */
    uint64_t next;        /* number of the next alarm that is looked at */
    int64_t from_ms;      /* of JSON */
    uint64_t most;        /* alarms that are over that it may still have, */
    uint64_t most_open;   /* and cleared ones that somebody may have to look at */
    crn_encoder *encoder; /* NULL: CSV */
    enum { PAGE_HEAD, PAGE_ALARMS, PAGE_ENDED } part;
    bool any; /* an alarm was sent */
    char *text;
    size_t size;
} alarm_page;

static int64_t page_time_ms(void)
{
    return crn_realtime_ns() / CRN_NS_PER_MS;
}

/* Whether the page has this alarm. What is active is never left out; of what nobody acknowledges
 * there may be thousands. */
static bool has_alarm(alarm_page *page, const crn_alarm *alarm)
{
    int64_t now_ms = page_time_ms();
    bool open = crn_alarm_is_open(alarm, now_ms) || crn_alarm_is_shelved(alarm, now_ms);
    uint64_t *most = open ? &page->most_open : &page->most;
    if (alarm->cleared_ms == 0)
        return true;
    if (*most == 0 || (!open && alarm->raised_ms < page->from_ms))
        return false;
    --*most;
    return true;
}

/* The next alarm in the page's order; false: there is none. Numbers that are kept no longer when
 * their turn comes are left out. */
static bool next_alarm(alarm_page *page, crn_alarm *ret_alarm)
{
    while (page->next >= page->kept.oldest && page->next <= page->kept.newest) {
        uint64_t number = page->encoder ? page->next-- : page->next++;
        if (crn_alarms_get(page->alarms, number, ret_alarm) && has_alarm(page, ret_alarm))
            return true;
    }
    return false;
}

static void write_head(const alarm_page *page, FILE *out)
{
    crn_alarm_summary summary = crn_alarms_summary(page->alarms);
    if (page->encoder)
        fprintf(out, "{\"now_ms\":%" PRId64 ",\"open\":%" PRIu64 ",\"loudest\":\"%s\",\"alarms\":[",
                page_time_ms(), summary.open, crn_alarm_loudest(&summary));
    else
        crn_alarm_csv_head(out);
}

static void write_alarm(alarm_page *page, const crn_alarm *alarm, FILE *out)
{
    const unsigned char *bytes;
    size_t size;
    if (!page->encoder) {
        crn_alarm_csv(alarm, out);
        return;
    }
    crn_encoder_begin(page->encoder);
    crn_alarm_json(alarm, page_time_ms(), page->encoder);
    if (crn_encoder_end(page->encoder, &bytes, &size) == 0)
        fprintf(out, "%s%.*s", page->any ? "," : "", (int)size, (const char *)bytes);
    page->any = true;
}

static void write_next(alarm_page *page, FILE *out)
{
    crn_alarm alarm;
    if (page->part == PAGE_HEAD) {
        write_head(page, out);
        page->part = PAGE_ALARMS;
    } else if (next_alarm(page, &alarm)) {
        write_alarm(page, &alarm, out);
    } else {
        page->part = PAGE_ENDED;
        fputs(page->encoder ? "]}" : "", out);
    }
}

static bool next_piece(crn_piece_source *source, const unsigned char **ret_bytes, size_t *ret_size)
{
    alarm_page *page = (alarm_page *)source;
    if (page->part == PAGE_ENDED)
        return false;
    free(page->text);
    page->text = NULL;
    FILE *out = open_memstream(&page->text, &page->size);
    if (!out)
        return false;
    write_next(page, out);
    if (fclose(out) != 0)
        return false;
    *ret_bytes = (const unsigned char *)page->text;
    *ret_size = page->size;
    return page->size > 0;
}

static void free_page(crn_piece_source *source)
{
    alarm_page *page = (alarm_page *)source;
    crn_encoder_free(&page->encoder);
    free(page->text);
    free(page);
}

static alarm_page *create_page(crn_alarms *alarms)
{
    alarm_page *page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->source = (crn_piece_source){.next = next_piece, .free = free_page};
    page->alarms = alarms;
    page->kept = crn_alarms_kept(alarms);
    page->next = page->kept.oldest;
    page->from_ms = INT64_MIN;
    page->most = page->most_open = UINT64_MAX;
    return page;
}

struct MHD_Response *crn_alarms_open_json(crn_alarms *alarms, int64_t from_ms, uint64_t most)
{
    alarm_page *page = create_page(alarms);
    if (!page)
        return NULL;
    page->next = page->kept.newest;
    page->from_ms = from_ms;
    page->most = most;
    page->most_open = most > CRN_ALARMS_OPEN_MOST ? most : CRN_ALARMS_OPEN_MOST;
    if (crn_encoder_create(CRN_FORMAT_JSON, &page->encoder) == 0)
        return crn_pieces_answer(&page->source);
    free_page(&page->source);
    return NULL;
}

struct MHD_Response *crn_alarms_open_csv(crn_alarms *alarms)
{
    alarm_page *page = create_page(alarms);
    return page ? crn_pieces_answer(&page->source) : NULL;
}
