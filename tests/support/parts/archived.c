#include "tests/support/parts/archived.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tools/archive/rows/tables.h"

char archived_path[128];
char archived_notice[1024];
int archived_notices;

int archived_setup(void **state)
{
    int r = logged_setup(state);
    snprintf(archived_path, sizeof archived_path, "%s/line.sqlite", logged_folder);
    return r;
}

void archived_write(archived_line *line, crn_format format, uint64_t segment_bytes,
                    uint64_t verdicts)
{
    crn_encoder *encoder;
    crn_error error;
    uint32_t lanes = line->lanes ? line->lanes : CRN_ARCHIVED_LANES;
    const char *run = line->run ? line->run : CRN_ARCHIVED_RUN;
    crn_verdict_writer *made = line->writer ? NULL : logged_writer(segment_bytes, 0);
    crn_verdict_writer *writer = line->writer ? line->writer : made;
    assert_int_equal(crn_encoder_create(format, &encoder), 0);
    for (uint64_t i = 0; i < verdicts; i++, line->verdicts++) {
        uint32_t lane = (uint32_t)(line->verdicts % lanes);
        const unsigned char *bytes;
        size_t size;
        crn_made_verdict(encoder, &line->random,
                         &(crn_made_facts){run, lane, line->verdicts / lanes}, &line->sums, &bytes,
                         &size);
        assert_int_equal(crn_verdict_writer_append(writer, lane, bytes, size, &error), 0);
    }
    crn_encoder_free(&encoder);
    crn_verdict_writer_close(&made);
}

static void keep_notice(const char *line)
{
    snprintf(archived_notice, sizeof archived_notice, "%s", line);
    archived_notices++;
}

int archived_import(bool follow, crn_intake_stats *ret_stats, crn_error *ret_error)
{
    crn_archive archive;
    crn_archive_tables tables;
    crn_import *import = NULL;
    archived_notice[0] = ret_error->text[0] = '\0';
    archived_notices = 0;
    *ret_stats = (crn_intake_stats){0};
    int r = crn_archive_open(&archive, archived_path, ret_error);
    if (r == 0)
        r = crn_archive_tables_init(&tables, &archive, ret_error);
    if (r == 0)
        r = crn_import_open(
            &tables.destination,
            &(crn_import_settings){.dir = logged_folder, .follow = follow, .tell = keep_notice},
            &import, ret_error);
    if (r == 0) {
        for (int ends = 0; r >= 0 && ends < (follow ? 3 : 1); ends += r == 0)
            r = crn_import_step(import, ret_error);
        *ret_stats = *crn_import_get_stats(import);
    }
    crn_import_close(&import);
    crn_archive_close(&archive);
    return r;
}

void archived_expect_added(uint64_t added)
{
    crn_intake_stats stats;
    crn_error error;
    if (archived_import(false, &stats, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(stats.added, added);
    assert_int_equal(stats.known, 0);
}

double archived_ask(const char *sql)
{
    sqlite3 *database;
    sqlite3_stmt *question = NULL;
    assert_int_equal(sqlite3_open_v2(archived_path, &database, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    sqlite3_busy_timeout(database, 60000);
    if (sqlite3_prepare_v2(database, sql, -1, &question, NULL) != SQLITE_OK ||
        sqlite3_step(question) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    double number = sqlite3_column_double(question, 0);
    sqlite3_finalize(question);
    sqlite3_close(database);
    return number;
}

typedef double asker(const char *sql);

static void expect(asker *ask, const char *sql, double expected)
{
    double found = ask(sql);
    if (found != expected)
        fail_msg("%s: %.17g, expected %.17g", sql, found, expected);
}

static void expect_of_class(asker *ask, const char *sql, int class, double expected)
{
    char text[512];
    snprintf(text, sizeof text, "%s JOIN names ON name_id = class_id WHERE name = '%s'", sql,
             crn_made_classes[class]);
    expect(ask, text, expected);
}

void archived_expect_sums_of(asker *ask, const crn_made_sums *sums)
{
    expect(ask, "SELECT COUNT(*) FROM fruits", (double)sums->fruits);
    expect(ask, "SELECT COUNT(*) FROM (SELECT DISTINCT run_id, lane, sequence FROM fruits) one",
           (double)sums->fruits);
    expect(ask,
           "SELECT COUNT(*) FROM fruits JOIN names ON name_id = verdict_id WHERE name = 'late'",
           (double)sums->late);
    expect(ask,
           "SELECT COUNT(*) FROM fruits JOIN lots USING (lot_id) WHERE lot = '" CRN_MADE_LOT "'",
           (double)sums->of_lot);
    expect(ask, "SELECT COUNT(*) FROM views", (double)sums->views);
    expect(ask,
           "SELECT COUNT(*) FROM views JOIN names ON name_id = reason_id WHERE name = 'no_slot'",
           (double)sums->lost_views);
    expect(ask, "SELECT COALESCE(SUM(run_us), 0) FROM views", (double)sums->run_us);
    expect(ask, "SELECT COUNT(*) FROM defects", (double)sums->defects);
    for (int class = 0; class < CRN_MADE_CLASSES; class ++) {
        expect_of_class(ask, "SELECT COUNT(*) FROM totals", class, (double)sums->found[class]);
        expect_of_class(ask, "SELECT COALESCE(SUM(area_px), 0) FROM totals", class,
                        sums->area_px[class]);
        expect_of_class(ask, "SELECT COALESCE(SUM(area_px), 0) FROM defects", class,
                        sums->defect_area[class]);
    }
}

void archived_expect_sums(const crn_made_sums *sums)
{
    expect(archived_ask, "SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'",
           1);
    archived_expect_sums_of(archived_ask, sums);
}
