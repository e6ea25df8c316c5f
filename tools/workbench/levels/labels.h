/*
 * What is known of a recording's views: a CSV file that says which views have a defect of a class,
 * and masks, pictures of class indices. levels/README.md has the formats.
 */
#ifndef CRN_TOOLS_WORKBENCH_LEVELS_LABELS_H
#define CRN_TOOLS_WORKBENCH_LEVELS_LABELS_H

#include <stddef.h>

#include "src/formats/view/wire.h"
#include "stages/base/error.h"
#include "stages/picture/picture.h"
#include "stages/stage/classes.h"

/* A value of a mask that is no class: the pixel does not count. */
#define CRN_MASK_UNKNOWN 255

/* One row. */
typedef struct crn_label {
    uint64_t fruit;
    uint32_t lane, view;
    int32_t plane; /* of the class */
    bool has_defect, used;
    int32_t line; /* of the file */
} crn_label;

typedef struct crn_labels {
    crn_label *at; /* `count`, by lane, fruit, view and plane; owned */
    size_t count;
    bool has_lanes;
    char *folder; /* of masks, owned; NULL: there are none */
} crn_labels;

/* True if the file's first line is that of a CSV file of labels. */
bool crn_labels_are_in(const char *path);

/* What a folder's files are called that are read, as an extended regular expression, which
 * JavaScript's are, too. */
#define CRN_LABEL_NAMES "^(labels\\.csv|([0-9]+-){1,2}[0-9]+\\.(png|tif))$"

bool crn_labels_are_named(const char *name);

/*
 * Reads a CSV file, or a folder with labels.csv, with masks, or with both. 0, or negative errno
 * with one line in *error. crn_labels_free() frees what it owns.
 */
int crn_labels_read(const char *path, const crn_classes *classes, crn_labels *ret_labels,
                    crn_error *error);
void crn_labels_free(crn_labels *labels);

/* The label of a view's class, which is then used; NULL: there is none. */
crn_label *crn_labels_find(crn_labels *labels, const crn_view_header *view, int32_t plane);

/*
 * Reads the mask of a view: 1, 0 if there is none, or negative errno with one line in *error. The
 * mask has the view's size, one plane of u8, and no value but of a class or CRN_MASK_UNKNOWN.
 */
int crn_labels_read_mask(const crn_labels *labels, const crn_view_header *view, int32_t classes,
                         crn_picture *ret_mask, crn_error *error);

#endif
