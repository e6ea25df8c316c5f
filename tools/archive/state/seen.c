#include "tools/archive/state/seen.h"

#include <string.h>

#include "stages/base/clock.h"

#define LOOK_AGAIN_NS (60 * CRN_NS_PER_S)

bool crn_seen_has_changed(crn_seen *seen, const char *path)
{
    struct stat about = {0};
    int64_t now_ns = crn_now_ns();
    if (stat(path, &about) < 0)
        memset(&about, 0, sizeof about);
    bool is_same = about.st_dev == seen->device && about.st_ino == seen->inode &&
                   about.st_size == seen->size && about.st_mtim.tv_sec == seen->modified.tv_sec &&
                   about.st_mtim.tv_nsec == seen->modified.tv_nsec;
    bool is_due = seen->looked_ns == 0 || now_ns - seen->looked_ns >= LOOK_AGAIN_NS;
    if (is_same && !is_due)
        return false;
    *seen = (crn_seen){about.st_dev, about.st_ino, about.st_size, about.st_mtim, now_ns};
    return true;
}
