/*
 * Reports the outlets to the line, whose live page shows them. A thread of its own sends the
 * reports, so that whoever decides hands over counts once a second and waits for nothing, also
 * where the line is away.
 */
#ifndef CRN_TOOLS_SORTER_PAGE_PAGE_H
#define CRN_TOOLS_SORTER_PAGE_PAGE_H

#include "stages/base/error.h"
#include "tools/sorter/monitor/health.h"

typedef struct crn_page_reporter crn_page_reporter;

/* Starts the thread for line.page. `path` is the sorter's file; nothing of it or of the settings is
 * used later. 0 or a negative errno with one line in *error. */
int crn_page_reporter_open(const char *path, const crn_sorter_settings *settings,
                           crn_page_reporter **ret_reporter, crn_error *error);

/* Ends and joins the thread: within a second, unless the system still resolves the host's name. */
void crn_page_reporter_close(crn_page_reporter **reporter);

/* When the next report is due. */
int64_t crn_page_reporter_due(const crn_page_reporter *reporter);

/* Hands over what the next report says. Of several that wait while the thread is busy the last one
 * is sent; dropped where too many wait. */
void crn_page_reporter_offer(crn_page_reporter *reporter, const crn_decider_stats *decided,
                             const crn_sorter_fault *const faults[], int32_t fault_count,
                             int64_t now_ns);

#endif
