/* Compares results and images bit by bit and reports the first difference. */
#ifndef CRN_TESTS_SUPPORT_COMPARE_H
#define CRN_TESTS_SUPPORT_COMPARE_H

#include "stages/image.h"
#include "stages/cernita.h"

/* Fails the running cmocka test, with `what` and the first difference, unless both results hold the
 * same contours with bit-equal points and the same `truncated`. Capacities may differ. */
void crn_assert_contours_equal(const crn_contours *got, const crn_contours *wanted,
                               const char *what);

/* Compares only the directed segments, in any order and however they are joined. */
void crn_assert_segments_equal(const crn_contours *got, const crn_contours *wanted,
                               const char *what);

/* Fails the running cmocka test, with `what` and the first difference, unless both images have the
 * same type, size and elements, bit by bit. Strides may differ. */
void crn_assert_images_equal(const crn_image *got, const crn_image *wanted, const char *what);

/* The same, with all NaNs equal. */
void crn_assert_images_equal_but_nans(const crn_image *got, const crn_image *wanted,
                                      const char *what);

#endif
