/* Files that are no archives, or of another version: one line each, and nothing of them is changed;
 * an older archive is migrated. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tools/archive/schema.h"
#include "tools/archive/database.h"

#define NOBODY 65534

static archived_line line;
static crn_intake_stats stats;
static crn_error error;

static int set_up(void **state)
{
    line = (archived_line){.random = {1}};
    int r = archived_setup(state);
    archived_write(&line, CRN_FORMAT_MSGPACK, UINT64_MAX, 30);
    return r;
}

static void expect_refused(int fault, const char *said)
{
    assert_int_equal(archived_import(false, &stats, &error), fault);
    if (!strstr(error.text, said) || !strstr(error.text, logged_folder) || strchr(error.text, '\n'))
        fail_msg("%s", error.text);
}

static void run(sqlite3 *database, const char *sql)
{
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void change(const char *sql)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(archived_path, &database), SQLITE_OK);
    run(database, sql);
    sqlite3_close(database);
}

static void a_foreign_database_is_refused(void **state)
{
    (void)state;
    change("CREATE TABLE orders (number INTEGER)");
    expect_refused(-EMEDIUMTYPE, "is the database of another program");
    assert_true(archived_ask("SELECT COUNT(*) FROM sqlite_schema") == 1);
}

static void what_is_no_database_is_refused(void **state)
{
    (void)state;
    FILE *file = fopen(archived_path, "w");
    for (int i = 0; i < 1000; i++)
        fprintf(file, "lane,fruit,verdict\n");
    fclose(file);
    expect_refused(-EMEDIUMTYPE, "is not an SQLite database: name another file");
}

static void a_newer_archive_is_refused(void **state)
{
    (void)state;
    archived_expect_added(30);
    change("PRAGMA user_version = 99");
    archived_write(&line, CRN_FORMAT_MSGPACK, UINT64_MAX, 30);
    expect_refused(-EMEDIUMTYPE, "has schema 99, of a newer cernita-archive");
    assert_true(archived_ask("SELECT COUNT(*) FROM fruits") == 30);
}

static void an_archive_of_a_version_that_there_never_was_is_refused(void **state)
{
    (void)state;
    archived_expect_added(30);
    static const char *const versions[] = {"PRAGMA user_version = 0", "PRAGMA user_version = -1",
                                           "PRAGMA user_version = -2000000000"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        change(versions[i]);
        expect_refused(-EMEDIUMTYPE, "is the database of another program: name another file");
    }
}

static void links_and_folders_are_refused(void **state)
{
    (void)state;
    char target[160];
    snprintf(target, sizeof target, "%s/target", logged_folder);
    assert_int_equal(symlink(target, archived_path), 0);
    expect_refused(-ELOOP, "is a symbolic link");
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(unlink(archived_path), 0);
    assert_int_equal(mkdir(archived_path, 0700), 0);
    expect_refused(-EISDIR, "folder");
    snprintf(archived_path, 128, "%s/none/line.sqlite", logged_folder);
    expect_refused(-ENOENT, "install -d");
}

static void a_folder_without_rights_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(logged_folder, 0755), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    int r = archived_import(false, &stats, &error);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(r, -EACCES);
    if (!strstr(error.text, "chown"))
        fail_msg("%s", error.text);
}

static void one_program_writes_at_a_time(void **state)
{
    (void)state;
    crn_archive other;
    assert_int_equal(crn_archive_open(&other, archived_path, &error), 0);
    expect_refused(-EBUSY, "another cernita-archive (process ");
    crn_archive_close(&other);
    archived_expect_added(30);
}

static void a_damaged_archive_is_told(void **state)
{
    (void)state;
    archived_expect_added(30);
    FILE *file = fopen(archived_path, "r+");
    assert_non_null(file);
    fseek(file, 100, SEEK_SET); /* the first page's tree of tables */
    for (int i = 0; i < 3000; i++)
        fputc(0xa5, file);
    fclose(file);
    expect_refused(-EBADMSG, "is damaged (");
}

/* A long question makes the log of the write (WAL) grow, but not for good. */
static void the_wal_shrinks_after_a_long_read(void **state)
{
    (void)state;
    crn_archive archive;
    sqlite3 *reader;
    struct stat before, after;
    char wal[160];
    snprintf(wal, sizeof wal, "%s-wal", archived_path);
    assert_int_equal(crn_archive_open(&archive, archived_path, &error), 0);
    assert_int_equal(sqlite3_open(archived_path, &reader), SQLITE_OK);
    run(reader, "BEGIN; SELECT COUNT(*) FROM fruits");
    run(archive.database, "CREATE TABLE large (bytes BLOB);"
                          "INSERT INTO large VALUES (zeroblob(40 << 20))");
    assert_int_equal(stat(wal, &before), 0);
    assert_true(before.st_size > 40 << 20);
    run(reader, "COMMIT");
    for (int i = 0; i < 2; i++) /* one is checkpointed, the other begins the file again */
        run(archive.database, "INSERT INTO large VALUES (NULL)");
    assert_int_equal(stat(wal, &after), 0);
    assert_true(after.st_size <= 32 << 20);
    sqlite3_close(reader);
    crn_archive_close(&archive);
}

/* --- migration --- */

static int migrate(const crn_archive_schema *schema)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(archived_path, &database), SQLITE_OK);
    int r = crn_archive_migrate(database, archived_path, schema, &error);
    sqlite3_close(database);
    return r;
}

static void an_older_archive_is_migrated(void **state)
{
    (void)state;
    archived_expect_added(30);
    int count = crn_archive_schema_current.count;
    const char *steps[16];
    memcpy(steps, crn_archive_schema_current.steps, (size_t)count * sizeof *steps);
    steps[count] = "ALTER TABLE fruits ADD COLUMN colour INTEGER";
    steps[count + 1] = "CREATE TABLE outlets (outlet_id INTEGER PRIMARY KEY); CREATE TABLE fruits";
    /* The second of two steps fails: neither is made. */
    assert_true(migrate(&(crn_archive_schema){steps, count + 2}) < 0);
    assert_true(archived_ask("PRAGMA user_version") == count);
    assert_true(archived_ask("SELECT COUNT(*) FROM pragma_table_info('fruits')"
                             " WHERE name = 'colour'") == 0);
    assert_int_equal(migrate(&(crn_archive_schema){steps, count + 1}), 0);
    assert_true(archived_ask("PRAGMA user_version") == count + 1);
    assert_true(archived_ask("SELECT COUNT(*) FROM fruits WHERE colour IS NULL") == 30);
    archived_expect_sums(&line.sums);
    assert_int_equal(migrate(&crn_archive_schema_current), -EMEDIUMTYPE);
}

/* Each version there was, with what that version had. */
static void an_archive_of_each_older_schema_goes_on(void **state)
{
    (void)state;
    for (int count = 1; count <= crn_archive_schema_current.count; count++) {
        unlink(archived_path);
        assert_int_equal(migrate(&(crn_archive_schema){crn_archive_schema_current.steps, count}),
                         0);
        change("INSERT INTO settings (hash) VALUES ('00000000000000a1')");
        archived_expect_added(30);
        archived_expect_sums(&line.sums);
        assert_true(archived_ask("PRAGMA user_version") == crn_archive_schema_current.count);
        assert_true(archived_ask("SELECT COUNT(*) FROM changes") == 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(a_foreign_database_is_refused),
        TEST(what_is_no_database_is_refused),
        TEST(a_newer_archive_is_refused),
        TEST(an_archive_of_a_version_that_there_never_was_is_refused),
        TEST(links_and_folders_are_refused),
        TEST(a_folder_without_rights_is_refused),
        TEST(one_program_writes_at_a_time),
        TEST(a_damaged_archive_is_told),
        TEST(the_wal_shrinks_after_a_long_read),
        TEST(an_older_archive_is_migrated),
        TEST(an_archive_of_each_older_schema_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
