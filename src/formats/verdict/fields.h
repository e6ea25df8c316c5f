/*
 * The keys of a verdict in the order of the message: one table for the encoder (verdict.c,
 * verdict_views.c), the decoder (src/formats/verdict/decode.c) and the reference in README.md. A
 * new key is a row here; readers ignore keys that they do not know.
 *
 * A row: key, type, unit ("": none), meaning (one clause of Markdown). CRN_KEY(view, state) is
 * the key `state` of the table `view`, CRN_KEYS_view the number of that table's keys.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_FIELDS_H
#define CRN_SRC_FORMATS_VERDICT_FIELDS_H

/* clang-format off */

#define CRN_FIELDS_verdict(X, m) \
    X(m, v, UNSIGNED, "", "1, as long as keys are only added") \
    X(m, run, TEXT, "", "identifies this start of the daemon") \
    X(m, settings, TEXT, "", "16 hex digits: FNV-1a 64 of what `--print-config` prints, followed " \
                             "by the bytes of the kernel and element files that it names; a " \
                             "recipe's levels, chain and latency stand in the place of the " \
                             "file's own") \
    X(m, recipe, TEXT, "", "the recipe in force at its first view; empty: none, the file's own settings") \
    X(m, lot, TEXT, "", "the lot in force at its first view, at most 47 bytes; empty: none") \
    X(m, lane, UNSIGNED, "", "as its views said") \
    X(m, epoch, UNSIGNED, "", "as its views said, of several senders that are joined that of the first; in JSON also as a text (below)") \
    X(m, fruit, UNSIGNED, "", "as its views said; in JSON also as a text (below)") \
    X(m, sequence, UNSIGNED, "", "of the lane's verdicts, from 0 with each run: a gap is a lost verdict, or a fruit that got none as its number returned too early") \
    X(m, stale, BOOL, "", "past its deadline (below)") \
    X(m, encoder, UNSIGNED, "", "belt position, as the lowest view received said; in JSON also as a text (below)") \
    X(m, captured_ns, UNSIGNED, "ns", "exposure, as the lowest view received said") \
    X(m, published_ns, UNSIGNED, "ns", "when it was packed") \
    X(m, deadline_ns, UNSIGNED, "ns", "when it was due at the latest") \
    X(m, verdict, TEXT, "", "`complete`, `partial` or `late`") \
    X(m, views_expected, UNSIGNED, "", "number of views, as their header said; 0: unknown") \
    X(m, views_received, UNSIGNED, "", "number of distinct views received") \
    X(m, views_judged, UNSIGNED, "", "number of these that have a result") \
    X(m, skipped, TEXTS, "", "optional steps that some view went without") \
    X(m, truncated, BOOL, "", "a limit cut the defects") \
    X(m, budget_ms, REAL, "ms", "`latency.budget_ms`") \
    X(m, latency_ms, TIMES, "ms", "where the time after the fruit's close went (below): `queue`, a key per step (the " \
                                  "second of a kind is `haar_2`), `total`") \
    X(m, assembly_ms, REAL, "ms", "from the reception of its first view to its close") \
    X(m, closed_by, TEXT, "", "what closed it (below): `views`, `time`, `deadline`, `open_fruits` or `stop`") \
    X(m, view_states, VIEWS, "", "every expected view, or those received or refused if `views_expected` is 0") \
    X(m, totals, TOTALS, "", "sums over all views, for every class that was looked for, also where none was found; " \
                             "a class without a level in the recipe or the file is absent: not looked for, not clean") \
    X(m, defects, DEFECTS, "", "view by view; [stages/stage/README.md](../../stages/stage/README.md) defines order and values") \
    X(m, surface, SURFACE, "", "only with section `geometry`: the fruit's measures, each defect once ([how](../../stages/surface/README.md)); " \
                               "null: `skipped` has `surface`, or no view was judged")

/* With one key per step between these two. */
#define CRN_FIELDS_time(X, m) \
    X(m, queue, REAL, "ms", "the view's wait until it began") \
    X(m, pose, REAL, "ms", "only with section `geometry`: finding where the view shows the fruit, and its skin") \
    X(m, surface, REAL, "ms", "only with section `geometry`: the wait for the fruit's measures") \
    X(m, total, REAL, "ms", "from the fruit's close to the packing")

#define CRN_FIELDS_view(X, m) \
    X(m, view, UNSIGNED, "", "its index") \
    X(m, state, TEXT, "", "`judged`; `lost`: received but not judged; `refused`: its message was refused; " \
                          "`missing`: no message came for it") \
    X(m, reason, TEXT, "", "why it is lost or refused, or the fruit partial (below); else empty") \
    X(m, captured_ns, UNSIGNED, "ns", "as its header said; null: not received") \
    X(m, encoder, UNSIGNED, "", "as its header said, in JSON also as a text (below); null: not received") \
    X(m, received_ms, REAL, "ms", "its reception, after that of the fruit's first view; null: not received") \
    X(m, queue_ms, REAL, "ms", "from its reception until it began (a lost one: until it was submitted to a worker " \
                               "or a device, or was lost); null: not received") \
    X(m, run_ms, REAL, "ms", "from then until it ended (a lost one: until it was lost, or until the packing if it " \
                             "still runs); null: it never began") \
    X(m, backend, TEXT, "", "that judged it: `serial`, `openmp`, or `cuda` if a device ran the steps on the maps; " \
                            "else empty") \
    X(m, class, TEXT, "", "only with reasons from `not_finite` to `wrong_sum`: the first class that has such " \
                          "values; empty: all classes together") \
    X(m, count, UNSIGNED, "", "with `class`: how many such values it has; from `all_zero` on: how many of 64 " \
                              "pixels do not sum to 1")

#define CRN_FIELDS_total(X, m) \
    X(m, count, UNSIGNED, "", "contours that are not holes") \
    X(m, area_px, REAL, "px²", "their area, less that of the holes") \
    X(m, level, REAL, "", "at which it was looked for: of the recipe in force, or of the file")

#define CRN_FIELDS_defect(X, m) \
    X(m, view, UNSIGNED, "", "index of its view") \
    X(m, class, TEXT, "", "its class") \
    X(m, level, REAL, "", "the class's level") \
    X(m, closed, BOOL, "", "the contour returns to its first point, which it repeats") \
    X(m, hole, BOOL, "", "closed and encloses low values") \
    X(m, parent, INTEGER, "", "index in `defects` of the nearest closed contour of its class and view that encloses " \
                              "it; -1: none") \
    X(m, area_px, REAL, "px²", "enclosed area; an open contour is closed by its chord") \
    X(m, perimeter_px, REAL, "px", "length, without that chord") \
    X(m, bbox, BOX, "px", "bounding box of the points") \
    X(m, centroid, PAIR, "px", "centroid of the area") \
    X(m, mean_probability, REAL, "", "of the map as received, over the pixels inside") \
    X(m, xy, POINTS, "px", "the contour's points") \
    X(m, on_fruit, BOOL, "", "only with section `geometry`, but for `outside: keep`: its centroid lies on the fruit; " \
                             "null: the view's pose is not known") \
    X(m, ranklet, TEXTURES, "", "one entry per window; only if a ranklet step ran for that view")

#define CRN_FIELDS_texture(X, m) \
    X(m, window, PAIR, "px", "its width and height") \
    X(m, vertical, REAL, "", "mean ranklet, -1 to 1: positive if the left half is brighter") \
    X(m, horizontal, REAL, "", "the same for the upper half") \
    X(m, diagonal, REAL, "", "the same for top left and bottom right")

#define CRN_FIELDS_surface(X, m) \
    X(m, diameter_mm, REAL, "mm", "across the roll axis: mean of the views; null, as all measures: not measured, as no view's " \
                                  "pose is known, or not how the fruit rolled, or its outlines are more than a limit allows") \
    X(m, length_mm, REAL, "mm", "along the roll axis") \
    X(m, coverage, REAL, "", "part of its surface that some view shows inclined by at most 75°; all else is not measured") \
    X(m, seen_mm2, REAL, "mm²", "the same as an area") \
    X(m, roll_axis, TEXT, "", "`geometry.roll_axis`: the axis in the pictures that the fruit rolls about, `y` or `x`") \
    X(m, pose, POSES, "", "of each judged view: where it shows the fruit") \
    X(m, classes, MEASURES, "", "sums over the fruit, for every class that was looked for; empty: not measured") \
    X(m, defects, SPOTS, "", "defects of the fruit, each once; empty: none, or not measured")

#define CRN_FIELDS_pose(X, m) \
    X(m, view, UNSIGNED, "", "index of the view") \
    X(m, x, REAL, "px", "centre of the ellipse that the fruit is in the picture; null, as the next five: not known") \
    X(m, y, REAL, "px", "the same") \
    X(m, rx, REAL, "px", "its semi-axis along x") \
    X(m, ry, REAL, "px", "along y") \
    X(m, tilt_deg, REAL, "°", "of the ellipse and the roll axis in the picture, from x towards y") \
    X(m, roll_deg, REAL, "°", "roll since the first of these views") \
    X(m, source, TEXT, "", "what tells it: `photo`, `class`, `header`, `expected`: the mean of the fruit's other views, or `none`") \
    X(m, confidence, REAL, "", "0 to 1, of what was found in the picture; where it is too low, `expected` is used") \
    X(m, roll_source, TEXT, "", "what tells the roll from the view before: `photo`, `header`, `expected`: `geometry.roll_deg`, or `none`, as of the first") \
    X(m, roll_confidence, REAL, "", "0 to 1, likewise") \
    X(m, from_deg, REAL, "°", "its strip, in which its outlines count: longitudes from its middle on, up to `to_deg`; null: " \
                              "not measured, or another view shows the same") \
    X(m, to_deg, REAL, "°", "the same")

#define CRN_FIELDS_measure(X, m) \
    X(m, count, UNSIGNED, "", "defects of the fruit, each once") \
    X(m, area_mm2, REAL, "mm²", "their area") \
    X(m, largest_mm2, REAL, "mm²", "area of the largest; 0: none") \
    X(m, longest_mm, REAL, "mm", "length of the longest; 0: none")

#define CRN_FIELDS_spot(X, m) \
    X(m, class, TEXT, "", "its class") \
    X(m, area_mm2, REAL, "mm²", "its area, less its holes") \
    X(m, length_mm, REAL, "mm", "its longest chord") \
    X(m, width_mm, REAL, "mm", "its extent across that") \
    X(m, lambda_deg, REAL, "°", "longitude of its middle about the roll axis; 0 faced the camera in the first view") \
    X(m, v, REAL, "", "place of its middle along the roll axis, -1 to 1") \
    X(m, views, INTEGERS, "", "indices of the views that it was measured in") \
    X(m, parts, INTEGERS, "", "indices in `defects` of the verdict")

/* clang-format on */

typedef enum crn_field_type {
    CRN_FIELD_BOOL,
    CRN_FIELD_UNSIGNED, /* 64 bits; null if there is nothing to say */
    CRN_FIELD_INTEGER,
    CRN_FIELD_REAL, /* integer or floating-point; null if there is nothing to say or not finite */
    CRN_FIELD_TEXT,
    CRN_FIELD_PAIR,     /* array of two numbers: x, y or width, height */
    CRN_FIELD_BOX,      /* array of four numbers: x0, y0, x1, y1 */
    CRN_FIELD_POINTS,   /* see crn_encoder_points */
    CRN_FIELD_TEXTS,    /* array of texts */
    CRN_FIELD_TIMES,    /* map of the table `time` */
    CRN_FIELD_INTEGERS, /* array of integers */
    CRN_FIELD_SURFACE,  /* map of the table `surface` */
    CRN_FIELD_TOTALS,   /* map of class to map of the table `total` */
    CRN_FIELD_MEASURES, /* map of class to map of the table `measure` */
    CRN_FIELD_VIEWS,    /* array of maps of the table `view` */
    CRN_FIELD_DEFECTS,
    CRN_FIELD_TEXTURES,
    CRN_FIELD_POSES, /* array of maps of the table `pose` */
    CRN_FIELD_SPOTS, /* array of maps of the table `spot` */
} crn_field_type;

typedef struct crn_field {
    const char *key; /* NULL ends a table */
    crn_field_type type;
    const char *unit, *help;
} crn_field;

#define CRN_FIELD_ID(map, name, type, unit, help) CRN_KEY_##map##_##name,
#define CRN_FIELDS_DECLARE(map)                                                                    \
    enum { CRN_FIELDS_##map(CRN_FIELD_ID, map) CRN_KEYS_##map };                                   \
    extern const crn_field crn_##map##_fields[CRN_KEYS_##map + 1];

CRN_FIELDS_DECLARE(verdict)
CRN_FIELDS_DECLARE(time)
CRN_FIELDS_DECLARE(view)
CRN_FIELDS_DECLARE(total)
CRN_FIELDS_DECLARE(defect)
CRN_FIELDS_DECLARE(texture)
CRN_FIELDS_DECLARE(surface)
CRN_FIELDS_DECLARE(pose)
CRN_FIELDS_DECLARE(measure)
CRN_FIELDS_DECLARE(spot)

#define CRN_FIELD(map, name) crn_##map##_fields[CRN_KEY_##map##_##name]
#define CRN_KEY(map, name)   CRN_FIELD(map, name).key

/* The first keys that are not in every map of their table; those of a view after it go with it. */
#define CRN_KEYS_view_always    CRN_KEY_view_class
#define CRN_KEYS_defect_always  CRN_KEY_defect_on_fruit
#define CRN_KEYS_verdict_always CRN_KEY_verdict_surface

#endif
