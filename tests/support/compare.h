/* Are two results, or images, the same bytes? Says where not. */
#ifndef CRN_TESTS_SUPPORT_COMPARE_H
#define CRN_TESTS_SUPPORT_COMPARE_H

#include "stages/image.h"
#include "stages/result.h"

/* Fails the running cmocka test, with `what` and the first difference, unless both results hold the
 * same contours with bit-equal points and the same `truncated`. Capacities may differ. */
void crn_assert_contours_equal(const crn_contours *got, const crn_contours *wanted,
                               const char *what);

/* The same, but of the directed segments alone, in any order and joined in any way. */
void crn_assert_segments_equal(const crn_contours *got, const crn_contours *wanted,
                               const char *what);

/* Fails the running cmocka test, with `what` and the first difference, unless both images are of
 * the same type and size and hold the same elements, bit by bit. Strides may differ. */
void crn_assert_images_equal(const crn_image *got, const crn_image *wanted, const char *what);

/* The same, but any NaN is as good as another. */
void crn_assert_images_equal_but_nans(const crn_image *got, const crn_image *wanted,
                                      const char *what);

#endif
