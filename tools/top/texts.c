#include "tools/top/texts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const crn_glyphs utf8 = {"✓", "!", "✕", "…", "█", "─", {"●", "▲", "○"}};
static const crn_glyphs ascii_only = {"+", "!", "X", ".", "#", "-", {"+", "!", "o"}};

const crn_glyphs *crn_glyphs_of(bool ascii)
{
    return ascii ? &ascii_only : &utf8;
}

crn_short_text crn_figure_text(double value)
{
    crn_short_text t;
    if (!isfinite(value))
        strcpy(t.text, "-");
    else
        snprintf(t.text, sizeof t.text, "%.*f",
                 fabs(value) < 10    ? 2
                 : fabs(value) < 100 ? 1
                                     : 0,
                 value);
    return t;
}

crn_short_text crn_count_text(double value)
{
    crn_short_text t;
    if (isfinite(value))
        snprintf(t.text, sizeof t.text, "%.0f", value);
    else
        strcpy(t.text, "-");
    return t;
}

crn_short_text crn_clock_text(double seconds)
{
    crn_short_text t = {"-"};
    time_t whole = (time_t)seconds;
    struct tm parts;
    if (isfinite(seconds) && fabs(seconds) < 1e11 && localtime_r(&whole, &parts))
        strftime(t.text, sizeof t.text, "%H:%M:%S", &parts);
    return t;
}

crn_short_text crn_lasting_text(double seconds)
{
    crn_short_text t = {"-"};
    if (!isfinite(seconds))
        return t;
    double s = seconds > 0 ? seconds : 0;
    if (s < 120)
        snprintf(t.text, sizeof t.text, "%.0f s", s);
    else if (s < 7200)
        snprintf(t.text, sizeof t.text, "%.0f min", floor(s / 60));
    else if (s < 172800)
        snprintf(t.text, sizeof t.text, "%.0f h", floor(s / 3600));
    else
        snprintf(t.text, sizeof t.text, "%.0f days", floor(s / 86400));
    return t;
}

crn_short_text crn_bytes_text(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    crn_short_text t = {"-"};
    int unit = 0;
    if (!isfinite(bytes))
        return t;
    for (; fabs(bytes) >= 1000 && unit < 4; unit++)
        bytes /= 1000;
    snprintf(t.text, sizeof t.text, "%.0f %s", bytes, units[unit]);
    return t;
}
