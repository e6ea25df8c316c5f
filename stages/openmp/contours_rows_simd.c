/* Compiled once per target; nothing needs that yet. */
typedef int crn_contours_rows_nothing;
