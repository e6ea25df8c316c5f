/**
 * @file
 * libcernita: the operators and the chain of cernita, for programs in C11 and C++17.
 *
 * Everything is done in a context (memory, threads, backend, text of the last error); there is no
 * other state. A context and its chains serve one thread at a time, without locks.
 *
 * Errors are values: a function that can fail returns 0 or a negative errno, then writes none of
 * its `ret_` outputs and leaves a line of text for crn_context_error(). -EINVAL: an argument, the
 * text names it; -ENOMEM; on a device -ENODEV (it is gone) and -EIO (it failed). Nothing aborts,
 * prints, or keeps a pointer to an argument after it returns. 128 KiB of stack are enough.
 *
 * Images belong to the caller. With CRN_MEMORY_DEVICE their elements lie in the device's memory;
 * calls then enqueue their work on the caller's stream and return: results are there when the
 * stream has come so far. Parameters, and what they point to, lie in host memory in any case.
 */
#ifndef CRN_STAGES_CERNITA_H
#define CRN_STAGES_CERNITA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef CRN_API
#define CRN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @return "0.2.0-dev" (static); while it begins with 0 a minor version may change declarations */
CRN_API const char *crn_version(void);

/** Type of an image's elements. */
typedef enum crn_type {
    CRN_U8 = 1,  /**< as a probability value / 255 */
    CRN_F16 = 2, /**< IEEE binary16; converts exactly to f32 */
    CRN_F32 = 3,
    CRN_U16 = 4, /**< not for maps of probabilities */
    CRN_F64 = 5, /**< for crn_find_contours() alone, and not on CUDA */
} crn_type;

/** How the planes of an image lie in memory. */
typedef enum crn_layout {
    CRN_CHW = 1, /**< planar: one plane after the other */
    CRN_HWC = 2, /**< interleaved: the planes' values of a pixel beside each other */
} crn_layout;

/** An image in memory of any owner: planes x height x width elements of one type. Strides count
 * elements, so that planar and interleaved images and windows into them are worked on in place. */
typedef struct crn_image {
    void *data;             /**< element (plane 0, row 0, column 0), aligned; not owned */
    crn_type type;          /**< of its elements, at most 2^42 in all */
    int32_t planes;         /**< 1 to 2^30 - 1, as the next two */
    int32_t height;         /**< rows */
    int32_t width;          /**< columns */
    ptrdiff_t plane_stride; /**< in elements, as the next two; any sign; of results not 0 */
    ptrdiff_t row_stride;   /**< from a row to the next */
    ptrdiff_t step;         /**< from a column to the next */
} crn_image;

/** An image over dense memory in that layout. The caller keeps the memory. */
static inline crn_image crn_image_dense(void *data, crn_type type, crn_layout layout,
                                        int32_t planes, int32_t height, int32_t width)
{
    ptrdiff_t step = layout == CRN_HWC ? planes : 1, row = step * width;
    ptrdiff_t plane = layout == CRN_HWC ? 1 : row * height;
    crn_image image = {data, type, planes, height, width, plane, row, step};
    return image;
}

/** Implementations of the operators: same bytes, but for convolve's tolerance, haar's NaN bits. */
typedef enum crn_backend {
    CRN_BACKEND_AUTO,   /**< the fastest on this machine for images in host memory: openmp */
    CRN_BACKEND_SERIAL, /**< the plain definition, slow */
    CRN_BACKEND_OPENMP, /**< vector instructions and threads */
    CRN_BACKEND_CUDA,   /**< an NVIDIA GPU of compute capability 7.5 or later */
} crn_backend;

/** @return why this build or machine lacks a backend (static), or NULL if it has it */
CRN_API const char *crn_backend_missing(crn_backend backend);

/** Where a context's images lie. */
typedef enum crn_memory {
    CRN_MEMORY_HOST,   /**< CRN_BACKEND_CUDA then uploads and downloads, and waits */
    CRN_MEMORY_DEVICE, /**< with CRN_BACKEND_CUDA only */
} crn_memory;

/** How to compute. All zero: the fastest on the CPU, on the calling thread alone. A call uses fewer
 * threads if not all start; without memory for them libgomp ends the process. It would hang in the
 * child of a fork(): calls use one thread there; if the parent used OpenMP itself, ask for one. */
typedef struct crn_context_settings {
    crn_backend backend; /**< CRN_BACKEND_AUTO: 0 */
    int32_t threads;     /**< of openmp, of one call, at most 1024; 0, 1: no others are started */
    crn_memory memory;   /**< where the images lie */
    int32_t device;      /**< MEMORY_DEVICE: its CUDA number; otherwise device 0 is used */
    void *stream; /**< MEMORY_DEVICE: the caller's cudaStream_t on it; NULL: the default stream */
} crn_context_settings;

/** Memory, threads, backend and the last error of one thread's calls. */
typedef struct crn_context crn_context;

/**
 * Opens a context. The first call of an operator reserves memory; later ones with the same
 * parameters, types, layouts and sizes allocate nothing.
 *
 * @param settings NULL: all zero
 * @param ret_context free it with crn_context_free(), before its stream is destroyed
 * @return 0; without a text, as there is no context, -EINVAL: settings that contradict or are
 *         out of range; -ENOTSUP: see crn_backend_missing(); -ENODEV: no such device; -ENOMEM
 * @snippet calls.c context
 */
CRN_API int crn_context_open(const crn_context_settings *settings, crn_context **ret_context);

/** Frees *context, whose chains must have been freed, and sets it to NULL; both may be NULL. */
CRN_API void crn_context_free(crn_context **context);

/** Waits until the context's work is done. @return 0, on a device also -ENODEV or -EIO */
CRN_API int crn_context_wait(crn_context *context);
/** Memory for results, 64-byte aligned, pinned on a device. @return NULL: it is used up
 * @snippet calls.c pinned */
CRN_API void *crn_pinned_create(crn_context *context, size_t bytes);
/** Frees such memory, before its context and once nothing writes to it; NULL is allowed. */
CRN_API void crn_pinned_free(crn_context *context, void *memory);

/** What was wrong in the last call, and its cure: a line; of a file, one for each fault.
 * @return the context's, until its next call; "" if nothing was wrong */
CRN_API const char *crn_context_error(const crn_context *context);

/** Which values are connected at a saddle, two high and two low pixels diagonally opposite. */
typedef enum crn_connectivity {
    CRN_CONNECT_LOW,  /**< the low ones (skimage's default) */
    CRN_CONNECT_HIGH, /**< the high ones */
} crn_connectivity;

/** Direction in which the points of a contour run. */
typedef enum crn_orientation {
    CRN_ORIENT_LOW,  /**< low values lie left of the direction of travel (skimage's default) */
    CRN_ORIENT_HIGH, /**< high ones do: the same contours in the same order, points reversed */
} crn_orientation;

/** What contours do at the border of the picture. */
typedef enum crn_border {
    CRN_BORDER_OPEN,   /**< contours end at the picture's border (skimage) */
    CRN_BORDER_CLOSED, /**< as if padded by a row and a column of zeros: contours close */
} crn_border;

/** Parameters of crn_find_contours(). */
typedef struct crn_contours_params {
    /** One per plane, in the image's values; NaN: no contours of that plane. */
    const double *levels;
    /** height x width, dense, 0 = masked; NULL: all pixels are valid. On a device it must last
     * until the stream has come so far. */
    const uint8_t *mask;
    crn_connectivity connectivity; /**< at saddles */
    crn_orientation orientation;   /**< of the points */
    crn_border border;             /**< of the picture */
} crn_contours_params;

/** A point in pixels; pixel centres have integer coordinates. */
typedef struct crn_point {
    double x; /**< to the right: column */
    double y; /**< down: row */
} crn_point;

/** One contour: a polyline. */
typedef struct crn_contour {
    int32_t plane;  /**< of the image */
    bool closed;    /**< a closed contour repeats its first point as its last */
    uint32_t first; /**< index of its first point */
    uint32_t count; /**< points, at least 2 */
} crn_contour;

/** Contours by plane, within a plane by the raster position of each contour's first cell. The
 * arrays and their capacities are the caller's. If a contour does not fit, it and all later ones
 * are left out and `truncated` is set: then enlarge the arrays and call again. */
typedef struct crn_contours {
    crn_point *points;         /**< of all contours, one after the other */
    crn_contour *contours;     /**< which points are whose */
    uint32_t point_capacity;   /**< length of `points` */
    uint32_t contour_capacity; /**< length of `contours` */
    uint32_t point_count;      /**< result */
    uint32_t contour_count;    /**< result */
    bool truncated;            /**< result: something did not fit */
} crn_contours;

/**
 * Contours by marching squares: polylines, order, starting points and doubles of skimage's
 * find_contours. A pixel is inside when value > level; a cell with a NaN or masked corner is
 * skipped.
 *
 * Closed border: cells, order and starting points are those of the zero-padded image (whose mask is
 * padded valid); coordinates are (unpadded row or column) + fraction, from -1 to height or width.
 *
 * Pixels exactly at the level: segments are linked by cell edge, consecutive equal points are
 * merged, a contour left with one point is dropped; only there may links differ from skimage's.
 * Next to an infinite value the point is placed on its finite neighbour, between two infinite ones
 * half-way. Time: O(pixels + points).
 *
 * @param context,params where and how to compute
 * @param in any type, any strides, below 2^30 cells a plane: (height - 1) (width - 1), at least
 *        2 x 2 pixels; with a closed border (height + 1) (width + 1), at least 1 x 1, levels >= 0
 * @param out overwritten; on a device it and its arrays lie in memory of crn_pinned_create() and
 *        are not to be touched before the stream has come so far
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @snippet calls.c contours
 * @see skimage.measure.find_contours; Lorensen and Cline, SIGGRAPH 1987
 */
CRN_API int crn_find_contours(crn_context *context, const crn_contours_params *params,
                              const crn_image *in, crn_contours *out);

/** Operations of crn_morphology(). */
typedef enum crn_morphology_operation {
    CRN_ERODE,
    CRN_DILATE,
    CRN_OPEN,
    CRN_CLOSE,
    CRN_GRADIENT,
    CRN_TOPHAT,
    CRN_BLACKHAT,
} crn_morphology_operation;

/** Shapes of a structuring element. */
typedef enum crn_element_shape {
    CRN_ELEMENT_RECT,
    /** (2x)^2 (H-1)^2 + (2y)^2 (W-1)^2 <= ((W-1)(H-1))^2 with x, y from the anchor: skimage's disk
     * if both sides are equal and odd. */
    CRN_ELEMENT_DISK,
    CRN_ELEMENT_CROSS, /**< the anchor's row and column */
    CRN_ELEMENT_PICTURE,
} crn_element_shape;

#define CRN_ELEMENT_MAX 4095 /**< largest width and height of a structuring element */

/** A structuring element. The arrays belong to the caller: height x width, dense. */
typedef struct crn_element {
    crn_element_shape shape; /**< of its members */
    int32_t width;           /**< 1 to CRN_ELEMENT_MAX */
    int32_t height;          /**< 1 to CRN_ELEMENT_MAX */
    const uint8_t *members;  /**< PICTURE: non-zero = member, at least one; else NULL */
    /** One per pixel, finite at members, for u8 whole numbers from -255 to 255; NULL: flat. */
    const float *heights;
} crn_element;

/** Parameters of crn_morphology(). */
typedef struct crn_morphology_params {
    crn_morphology_operation operation; /**< what to compute */
    crn_element element;                /**< over which pixels */
} crn_morphology_params;

/**
 * Erosion, dilation and their combinations, with the semantics of scipy.ndimage (OpenCV does not
 * reflect the element when it dilates). With s the offsets of the element's members from its
 * anchor, (width / 2, height / 2) rounded down, and b their heights (0 if flat):
 *
 *     erode(x)  = min of f(x + s) - b(s)        dilate(x) = max of f(x - s) + b(s)
 *     open      = dilate(erode(f))              close     = erode(dilate(f))
 *     gradient  = dilate(f) - erode(f)          tophat    = f - open(f)
 *     blackhat  = close(f) - f
 *
 * Only members that lie on the picture count. Where none does, erosion gives the maximum (255,
 * +inf) and dilation the minimum (0, -inf). u8 saturates at every step, differences at 0. f32:
 * erosion reads NaN as +inf, dilation as -inf; -0 becomes +0; a difference that is NaN is the
 * quiet NaN 0x7fc00000. Time: O(pixels x rows of the element); of a flat rectangle O(pixels).
 *
 * @param context,params where and how to compute
 * @param in u8 or f32, any strides
 * @param out type and size of `in`, any strides, no element shared with `in`
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @see scipy.ndimage; van Herk 1992, Gil and Werman 1993; Urbach and Wilkinson 2008
 */
CRN_API int crn_morphology(crn_context *context, const crn_morphology_params *params,
                           const crn_image *in, crn_image *out);

/** Pixels beyond the border of a picture. */
typedef enum crn_convolve_border {
    CRN_CONVOLVE_REPLICATE, /**< aaa|abcd|ddd */
    /** dcb|abcd|cba: OpenCV's reflect-101, as often as is needed; one pixel is replicated. */
    CRN_CONVOLVE_REFLECT,
    CRN_CONVOLVE_WRAP, /**< bcd|abcd|abc */
    CRN_CONVOLVE_ZERO,
} crn_convolve_border;

#define CRN_KERNEL_TAPS_MAX 16384 /**< maximum number of weights, width x height */

/** Parameters of crn_convolve(). */
typedef struct crn_convolve_params {
    const float *weights;       /**< height x width, dense, finite; owned by the caller */
    int32_t width;              /**< columns of weights */
    int32_t height;             /**< rows of weights */
    crn_convolve_border border; /**< beyond the picture */
} crn_convolve_params;

/**
 * Convolution in the image-processing sense, that is, a correlation: the kernel is not flipped and
 * its anchor is (width / 2, height / 2), rounded down, as in OpenCV's filter2D.
 *
 * f32: |error| <= 2 k 2^-24 S, with k the number of weights and S the sum of |weight x pixel|. u8:
 * the sum rounded half to even and saturated; exact for integer kernels with a sum of |weights| up
 * to 2^24 / 255, else off by one at most, only where the sum is that near to a tie. Both hold if
 * all pixels under the kernel are finite and nothing overflows or underflows; a non-finite pixel
 * under a non-zero weight gives a non-finite result. Time: O(pixels x width x height); of a kernel
 * that is a column times a row O(pixels x (width + height)).
 *
 * @param context,params where and how to compute
 * @param in u8 or f32, any strides
 * @param out type and size of `in`, any strides, no element shared with `in`
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @see OpenCV, filter2D
 */
CRN_API int crn_convolve(crn_context *context, const crn_convolve_params *params,
                         const crn_image *in, crn_image *out);

/** Transforms of crn_haar(). */
typedef enum crn_haar_direction {
    CRN_HAAR_FORWARD,
    CRN_HAAR_INVERSE,
    /** Forward, soft threshold of every difference d of every level (sign(d) max(|d| - threshold,
     * 0)), inverse; zeros keep their sign, NaN stays NaN. */
    CRN_HAAR_DENOISE,
} crn_haar_direction;

/** Parameters of crn_haar(). */
typedef struct crn_haar_params {
    crn_haar_direction direction; /**< there, back, or both */
    int32_t levels;               /**< 0 to crn_haar_levels_max() */
    float threshold;              /**< DENOISE: >= 0; with +inf only the averages remain */
    bool unit; /**< u8: read as value / 255, a probability, instead of as an integer */
} crn_haar_params;

/** Maximum number of levels: ceil(log2(max(height, width))). */
CRN_API int32_t crn_haar_levels_max(int32_t height, int32_t width);

/**
 * Orthonormal 2D Haar transform with PyWavelets' signs, in quadrant layout: each level transforms
 * the h x w averages of the previous one into averages (top left, ceil(h/2) x ceil(w/2)) and
 * differences along rows (top right), along columns (bottom left) and along both (bottom right).
 * Each square a b / c d gives, in this order of additions:
 *
 *     average  ((a + b) + (c + d)) / 2      row       ((a - b) + (c - d)) / 2
 *     column   ((a + b) - (c + d)) / 2      diagonal  ((a - b) - (c - d)) / 2
 *
 * Odd sizes keep ceil(n/2) averages and floor(n/2) differences: the last sample is paired with
 * itself. The inverse takes the same four sums of (average, row, column, diagonal), with 0 for
 * differences that were not kept, and drops the duplicate of an odd last sample. inverse(forward
 * (x)) is within 4 levels 2^-24 max|x|. Time: O(pixels), for any number of levels.
 *
 * @param context,params where and how to compute
 * @param in u8 or f32, any strides
 * @param out f32, size of `in`, any strides, no element shared with `in`
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @see PyWavelets; Haar 1910, Mallat 1989
 */
CRN_API int crn_haar(crn_context *context, const crn_haar_params *params, const crn_image *in,
                     crn_image *out);

/** Parameters of crn_ranklet(). */
typedef struct crn_ranklet_params {
    int32_t width;  /**< of the window: even, >= 2, at most the picture's */
    int32_t height; /**< likewise */
} crn_ranklet_params;

#define CRN_RANKLET_HALF_MAX INT64_C(3037000499) /**< pixels in half a window: 63 bits of pairs */

/**
 * Ranklets: for every window position, the Wilcoxon statistic of one half of its pixels, the
 * treatment set T, against the other half, the control set C, from -1 to 1:
 *
 *     R = sum over all pairs of sign(t - c) / (|T| |C|)
 *
 * vertical: T is the left half; horizontal: the top half; diagonal: the top left and bottom right
 * quarters. Ties count 0, a constant window gives 0. R is (float)((double)sum / (double)(|T| |C|)).
 * Time: O(pixels x min(window's area, values)), values at most 256 for u8.
 *
 * @param context,params where and how to compute
 * @param in u8 or u16, any strides, h x w
 * @param out f32, any strides, 3 planes (vertical, horizontal, diagonal) for each of `in`, (h -
 *        window height + 1) x (w - window width + 1): one element per window, at its top left pixel
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @see Smeraldi, ICPR 2002
 */
CRN_API int crn_ranklet(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                        crn_image *out);

/** Parameters of crn_diamond_square(). */
typedef struct crn_diamond_square_params {
    int32_t exponent; /**< 0 to CRN_DIAMOND_SQUARE_EXPONENT_MAX */
    uint64_t seed;    /**< any */
    double roughness; /**< R, 0 to 1 */
    int32_t x;        /**< column of the field where `out` begins */
    int32_t y;        /**< row of the field where `out` begins */
} crn_diamond_square_params;

#define CRN_DIAMOND_SQUARE_EXPONENT_MAX 20 /**< a field of 2^40 points */

/**
 * Diamond-square: a fractal field of side 2^exponent + 1 around 128. Level l adds noise of
 * amplitude 128 R^l to the mean of a square's corners, then of a diamond's; the noise of a point
 * depends on the seed and its place alone (Philox4x32-10), so that the same parameters give the
 * same bytes everywhere. Time: O(pixels of `out` + exponent x its width).
 *
 * @param context,params where and how to compute
 * @param out f32, or u8 (rounded half to even, saturated); one plane, any strides; a rectangle of
 *        the field. A point has the same bytes in every rectangle that contains it.
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @see Fournier, Fussell and Carpenter 1982; Salmon et al. 2011
 */
CRN_API int crn_diamond_square(crn_context *context, const crn_diamond_square_params *params,
                               crn_image *out);

/** The mean ranklets around one defect, with windows of one size. */
typedef struct crn_texture {
    int32_t width;    /**< of the window */
    int32_t height;   /**< of the window */
    float vertical;   /**< -1 to 1: positive if the left half is brighter */
    float horizontal; /**< the same for the top half */
    float diagonal;   /**< the same for top left and bottom right */
} crn_texture;

/** One contour as a verdict reports it. */
typedef struct crn_defect {
    int32_t channel;        /**< class, in the file's order */
    int32_t parent;         /**< index of the nearest enclosing contour in `defects`; -1: none */
    bool closed;            /**< its last point repeats its first */
    bool hole;              /**< closed and encloses low values, for either orientation */
    uint32_t first_point;   /**< index of its first pair in `xy` */
    uint32_t point_count;   /**< points, at least 2 */
    double area_px;         /**< >= 0, shoelace formula; an open contour is closed by its chord */
    double perimeter_px;    /**< polyline length; without the chord of an open contour */
    double x0;              /**< left side of the points' bounding box */
    double y0;              /**< its top */
    double x1;              /**< its right side */
    double y1;              /**< its bottom */
    double centroid_x;      /**< of the area */
    double centroid_y;      /**< of the area */
    uint32_t first_texture; /**< index in `textures` */
    uint32_t texture_count; /**< 0 without a stage that computes textures */
    /** Of the map as received, over pixel centres inside this contour alone (even-odd rule). */
    double mean_probability;
} crn_defect;

/** The defects of one view, by class, then contour. What exceeds the file's `limits` is left out
 * from the end of that order and `truncated` is set. */
typedef struct crn_defects {
    crn_defect *defects;       /**< in that order */
    float *xy;                 /**< x, y pairs of all outlines */
    crn_texture *textures;     /**< of all defects */
    uint32_t defect_capacity;  /**< length of `defects` */
    uint32_t point_capacity;   /**< pairs for which `xy` has room */
    uint32_t texture_capacity; /**< length of `textures` */
    uint32_t defect_count;     /**< result */
    uint32_t point_count;      /**< result */
    uint32_t texture_count;    /**< result */
    bool truncated;            /**< result: something did not fit */
} crn_defects;

/** The chain of a line's file: what cernitad does with the maps of one view. */
typedef struct crn_chain crn_chain;

/**
 * Opens the chain of a line's file (`classes`, `chain` and `limits`; its other sections are checked
 * and have no effect). Reads the kernels and elements that it names, reserves memory for `limits`.
 *
 * @param context whose backend, threads and memory it uses; must outlive it
 * @param path of the file; what it names relative to the working directory
 * @param ret_chain free it with crn_chain_free()
 * @return 0; -EINVAL: faults in the file, each on a line of crn_context_error() as far as they fit
 *         (file:line:column); -ENOMEM; the errno with which the file could not be read
 */
CRN_API int crn_chain_open(crn_context *context, const char *path, crn_chain **ret_chain);

/** Frees *chain, its last result too, and sets it to NULL; both may be NULL. */
CRN_API void crn_chain_free(crn_chain **chain);
/** Number of classes of its file, the planes of a view's maps; 0 without a chain. */
CRN_API int32_t crn_chain_class_count(const crn_chain *chain);
/** @return the name of class `index`, the chain's; NULL beyond the last one and without a chain */
CRN_API const char *crn_chain_class_name(const crn_chain *chain, int32_t index);

/**
 * Runs the chain on one view, all steps, without a time limit: the defects that cernitad finds,
 * same bytes. That the maps hold probabilities is not checked. On a device it waits for the result.
 * Time: that of the steps, and O(points x log points + pixels inside the outlines).
 *
 * @param chain gives its context the text of an error
 * @param maps a probability per class, pixel centre at whole numbers: u8, f16 or f32, dense, CHW or
 *        HWC (whatever the stride of a side of 1), crn_chain_class_count() planes; in the context's
 *        memory
 * @param intensity the photograph, one dense plane of u8 of the same size, in the context's memory;
 *        NULL: none, textures are then of the maps
 * @param ret_defects the chain's, until its next call
 * @return 0, -EINVAL, -ENOMEM, -ENODEV or -EIO
 * @snippet calls.c judge
 */
CRN_API int crn_chain_judge(crn_chain *chain, const crn_image *maps, const crn_image *intensity,
                            const crn_defects **ret_defects);

#ifdef __cplusplus
}
#endif
#endif
