#include "src/formats/changes/chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <sodium/utils.h>

__attribute__((format(printf, 3, 4))) static void find_fault(crn_change_chain *chain, uint64_t line,
                                                             const char *form, ...)
{
    va_list arguments;
    if (chain->fault_line)
        return;
    chain->fault_line = line;
    va_start(arguments, form);
    vsnprintf(chain->fault, sizeof chain->fault, form, arguments);
    va_end(arguments);
}

/* --- lines that are no entries --- */

static void run_hash(const crn_change_chain *chain, char ret_text[CRN_SHA256_TEXT_BYTES])
{
    crypto_hash_sha256_state state = chain->run;
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(ret_text, CRN_SHA256_TEXT_BYTES, hash, sizeof hash);
}

static void add_to_run(crn_change_chain *chain, const char *bytes, size_t length)
{
    if (chain->run_lines == 0) {
        chain->run_line = chain->lines;
        crypto_hash_sha256_init(&chain->run);
    }
    chain->run_lines++;
    crypto_hash_sha256_update(&chain->run, (const unsigned char *)bytes, length);
}

static void add_line_end(crn_change_chain *chain)
{
    crypto_hash_sha256_update(&chain->run, (const unsigned char *)"\n", 1);
}

/* Ends the run at an entry, which vouches for it if a loss of power left it. */
static void end_run(crn_change_chain *chain, const crn_change_links *entry)
{
    char hash[CRN_SHA256_TEXT_BYTES] = "";
    if (chain->run_lines > 0)
        run_hash(chain, hash);
    if (strcmp(hash, entry->cut) == 0)
        chain->cuts += chain->run_lines > 0;
    else if (chain->run_lines > 0)
        find_fault(chain, chain->run_line, "is not the entry that was written there");
    else
        find_fault(chain, chain->lines,
                   "says that a cut entry lies before it, and there is none: it was removed");
    chain->run_lines = 0;
}

/* --- entries --- */

static void follow(crn_change_chain *chain, const crn_change_links *entry)
{
    const char *previous = chain->last.number ? chain->last.hash : crn_change_no_previous;
    end_run(chain, entry);
    if (entry->number != chain->last.number + 1)
        find_fault(chain, chain->lines,
                   "is entry %" PRIu64 " where entry %" PRIu64
                   " belongs: lines before it were removed, added or moved",
                   entry->number, chain->last.number + 1);
    else if (strcmp(entry->previous, previous) != 0)
        find_fault(chain, chain->lines,
                   "does not carry the hash of the entry before it: one of them was replaced");
    chain->last = *entry;
}

/* Takes in a line, of which *ret_links then is the entry. False: it is none. */
static bool take_line(crn_change_chain *chain, const char *line, size_t length, bool ended,
                      crn_change_links *ret_links)
{
    crn_change_line is = crn_change_look(line, length, ended);
    chain->lines++;
    chain->lacks_line_end = !ended;
    chain->ends_in_cut = false;
    if (is == CRN_CHANGE_WHOLE && crn_change_links_read(line, length, ret_links) == 0) {
        follow(chain, ret_links);
        return true;
    }
    add_to_run(chain, line, length);
    if (ended)
        add_line_end(chain);
    chain->ends_in_cut = is == CRN_CHANGE_CUT && chain->run_lines == 1;
    return false;
}

/* What is left of the run at the end of the file. */
static void end_file(crn_change_chain *chain)
{
    if (chain->run_lines == 0)
        return;
    if (!chain->ends_in_cut) {
        find_fault(chain, chain->run_line, "is not the entry that was written there");
        return;
    }
    add_line_end(chain);
    run_hash(chain, chain->cut);
}

/* Reads up to a line end, which it leaves out, or to the end; of a line that is too long a part.
 * False: there is nothing more. */
static bool read_line(FILE *file, char line[CRN_CHANGE_LINE_BYTES], size_t *ret_length,
                      bool *ret_ended)
{
    size_t length = 0;
    int byte = 0;
    while (length < CRN_CHANGE_LINE_BYTES && (byte = getc_unlocked(file)) != EOF && byte != '\n')
        line[length++] = (char)byte;
    *ret_length = length;
    *ret_ended = byte == '\n';
    return length > 0 || byte == '\n';
}

int crn_change_chain_read(FILE *file, crn_change_seen *seen, void *context,
                          crn_change_chain *ret_chain)
{
    char line[CRN_CHANGE_LINE_BYTES];
    crn_change_links links;
    crn_change_chain chain = {0};
    size_t length;
    bool ended;
    while (read_line(file, line, &length, &ended)) {
        if (take_line(&chain, line, length, ended, &links) && seen)
            seen(context, &links, line, length);
    }
    end_file(&chain);
    *ret_chain = chain;
    return ferror(file) ? -EIO : 0;
}
