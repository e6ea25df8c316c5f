#include "tools/common/scene/scene.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/scene/scene_fruit.h"

#define CLOUDS_EXPONENT 9
#define CLOUDS_LEVEL    3    /* clouds of 64 pixels and less */
#define LOGIT_MAX       7.0f /* ±: the rarest of 12 classes has e^-14 of the commonest's share */

const char *const crn_scene_class_names[CRN_SCENE_CLASSES] = {
    "background",       "rot",    "rust",  "fresh hail", "healed hail", "picking damage",
    "transport damage", "bruise", "mould", "stem",       "calyx",       "roller"};

/* Logits on empty belt and sound skin, and how far clouds move them. */
static const float base_logit[CRN_SCENE_CLASSES] = {4.5f,  -3.5f, -4.5f, -5.5f, -6.0f, -6.5f,
                                                    -6.5f, -5.0f, -4.5f, -6.0f, -5.0f, -4.5f};
static const float cloud_logit[CRN_SCENE_CLASSES] = {0.8f, 1.6f, 1.6f, 1.4f, 1.2f, 1.2f,
                                                     1.2f, 1.6f, 1.6f, 1.2f, 1.6f, 1.6f};

/* The conveyor under one pixel. */
typedef struct scene_ground {
    float brightness; /* 0 to 1 */
    float shine;      /* of the thin bright line along a roller, 0 to 1 */
} scene_ground;

int crn_scene_create(uint64_t seed, int32_t height, int32_t width, int32_t classes, int32_t views,
                     crn_scene *ret_scene)
{
    crn_scene scene = {seed, height, width, classes, views, {0}, NULL};
    scene.logits = malloc((size_t)classes * (size_t)width * sizeof *scene.logits);
    if (!scene.logits ||
        crn_noise_create(CLOUDS_EXPONENT, seed, CLOUDS_LEVEL, 0.68f, &scene.clouds) < 0) {
        crn_scene_free(&scene);
        return -ENOMEM;
    }
    *ret_scene = scene;
    return 0;
}

void crn_scene_free(crn_scene *scene)
{
    crn_noise_free(&scene->clouds);
    free(scene->logits);
    scene->logits = NULL;
}

/* e^x for |x| up to 80, identical on every machine and vectorisable: 2^whole times a polynomial for
 * 2^fraction (relative error below 1e-6). */
static inline float exponential(float x)
{
    float t = x * 1.44269504f;
    int32_t whole = (int32_t)(t + 128) - 128;
    float f = t - (float)whole;
    float p = 1.5353362e-4f;
    p = p * f + 1.3398874e-3f;
    p = p * f + 9.6184373e-3f;
    p = p * f + 5.5503324e-2f;
    p = p * f + 2.4022648e-1f;
    p = p * f + 6.9314720e-1f;
    p = p * f + 1.0f;
    uint32_t bits = (uint32_t)(whole + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* A roller is a waisted cylinder across the belt, lit from the left, with rings turned into it. The
 * fruit lies between two rollers, which move with it. */
static scene_ground look_at_ground(const crn_scene *scene, const crn_pose *pose, float x, float y)
{
    const crn_noise *clouds = &scene->clouds;
    float pitch = pose->roller_pitch, middle = (float)scene->height * 0.5f;
    float from = (x - pose->x) / pitch;
    float nearest = floorf(from) + 0.5f; /* rollers are at odd half pitches from the fruit */
    float waist = (y - middle) / middle;
    float half = 0.33f * (1 + 0.30f * waist * waist);
    float u = (from - nearest) / half;
    scene_ground g = {0.07f, 0};
    if (fabsf(u) >= 1)
        return g;
    float round = sqrtf(1 - u * u), line = (u + 0.38f + 0.12f * waist) / 0.07f;
    float ring = (float)((int32_t)(fabsf(waist) * 9) & 1) * 0.05f;
    /* Wear moves with the roller and interrupts its bright line. */
    int32_t column =
        crn_noise_mirror(clouds, (int32_t)(nearest * 171) + (int32_t)(u * 24) + pose->wear);
    int32_t row = crn_noise_mirror(clouds, (int32_t)y + 40 * (int32_t)nearest + pose->wear);
    float wear = clouds->value[(size_t)row * clouds->side + column];
    g.shine = exponential(-0.5f * clamp(line * line, 0, 60)) * clamp(0.55f + 2.2f * wear, 0, 1);
    g.brightness = 0.15f + 0.20f * round * (1 - 0.5f * u) - ring + 0.26f * g.shine + 0.05f * wear;
    return g;
}

static float lit(const crn_hit *hit, float albedo)
{
    static const vector lamp = {-0.36f, -0.48f, 0.80f}, half = {-0.19f, -0.253f, 0.949f};
    float diffuse = fmaxf(0, dot(hit->normal, lamp)), gloss = fmaxf(0, dot(hit->normal, half));
    gloss *= gloss;
    gloss *= gloss;
    gloss *= gloss;
    gloss *= gloss; /* to the 16th */
    gloss *= gloss;
    return albedo * (0.28f + 0.78f * diffuse) + 0.16f * gloss;
}

/* Logits of belt and sound skin for one row; each class samples the clouds at its own offset. */
static void fill_logits(const crn_scene *scene, crn_draws offsets, int32_t y)
{
    const crn_noise *clouds = &scene->clouds;
    for (int32_t c = 0; c < scene->classes; c++) {
        int known = c < CRN_SCENE_CLASSES ? c : CLASS_TRANSPORT;
        int32_t x0 = (int32_t)crn_draws_between(&offsets, 0, 1000);
        int32_t y0 = (int32_t)crn_draws_between(&offsets, 0, 1000);
        const float *cloud =
            clouds->value + (size_t)crn_noise_mirror(clouds, y + y0) * clouds->side;
        float *logit = scene->logits + (size_t)c * scene->width;
        for (int32_t x = 0; x < scene->width; x++)
            logit[x] =
                base_logit[known] + cloud_logit[known] * cloud[crn_noise_mirror(clouds, x + x0)];
    }
}

static void add_logit(const crn_scene *scene, int class, int32_t x, float logit)
{
    if (class < scene->classes)
        scene->logits[(size_t) class * scene->width + x] += logit;
}

/* Adds the conveyor to the logits: bright lines
 * look like rollers, and a little like every class. */
static void add_ground(const crn_scene *scene, scene_ground g, int32_t x, float visible)
{
    if (g.shine < 0.02f || visible <= 0)
        return;
    add_logit(scene, CLASS_ROLLER, x, 9.5f * g.shine * visible);
    add_logit(scene, CLASS_BACKGROUND, x, -1.5f * g.shine * visible);
    add_logit(scene, CLASS_ROT, x, 2.0f * g.shine * visible);
}

/* Renders one row of the photograph and the row's logits. */
static void look_at_row(const crn_scene *scene, const crn_scene_fruit *fruit, const crn_pose *pose,
                        int32_t y, float *ret_brightness)
{
    for (int32_t x = 0; x < scene->width; x++) {
        crn_hit hit = crn_fruit_hit(fruit, pose, (float)x, (float)y);
        float covered = clamp(0.5f - hit.outside * fruit->radius_px * 0.5f, 0, 1);
        scene_ground g = look_at_ground(scene, pose, (float)x, (float)y);
        float dx = (float)x - pose->x - 0.2f * fruit->radius_px;
        float dy = (float)y - pose->y - 0.25f * fruit->radius_px;
        float far = sqrtf(dx * dx + dy * dy) / fruit->radius_px;
        float brightness = g.brightness * clamp(0.35f + (far - 0.9f) * 1.6f, 0.35f, 1);
        add_ground(scene, g, x, 1 - covered);
        if (covered > 0) {
            crn_skin skin;
            crn_fruit_skin(scene, fruit, &hit, &skin);
            brightness += (lit(&hit, skin.albedo) - brightness) * covered;
            for (int c = 0; c < CRN_SCENE_CLASSES; c++)
                add_logit(scene, c, x, skin.logit[c] * covered);
        }
        ret_brightness[x] = brightness;
    }
}

static void softmax(const crn_scene *scene, float *ret_row)
{
    int32_t width = scene->width, classes = scene->classes;
    for (int32_t c = 0; c < classes; c++) {
        float *logit = scene->logits + (size_t)c * width;
        for (int32_t x = 0; x < width; x++)
            logit[x] = exponential(clamp(logit[x], -LOGIT_MAX, LOGIT_MAX));
    }
    for (int32_t x = 0; x < width; x++) {
        float sum = 0;
        for (int32_t c = 0; c < classes; c++)
            sum += scene->logits[(size_t)c * width + x];
        for (int32_t c = 0; c < classes; c++)
            ret_row[(size_t)x * classes + c] = scene->logits[(size_t)c * width + x] / sum;
    }
}

/* Quantises to eight bits with sensor noise: the sum of two uniform numbers, ±3. */
static void expose(const float *brightness, int32_t width, uint64_t key, int32_t y,
                   unsigned char *ret_row)
{
    uint32_t words[4] = {0};
    for (int32_t x = 0; x < width; x++) {
        uint32_t counter[4] = {(uint32_t)x / 4, (uint32_t)y, 0, 0x73656e73};
        if (x % 4 == 0)
            crn_philox(counter, key, words);
        float a = (float)(words[x & 3] >> 16), b = (float)(words[x & 3] & 0xffff);
        float grain = (a + b) * (3.0f / 65536) - 3;
        ret_row[x] = (unsigned char)clamp(brightness[x] * 255 + grain + 0.5f, 0, 255);
    }
}

void crn_scene_render(crn_scene *scene, uint64_t number, int32_t view, float *ret_maps,
                      unsigned char *ret_photograph)
{
    crn_scene_fruit fruit;
    crn_pose pose;
    crn_fruit_make(scene, number, &fruit);
    crn_fruit_pose(scene, &fruit, number, view, &pose);
    uint64_t own = number * (uint64_t)scene->views + (uint64_t)view;
    crn_draws offsets = {scene->seed ^ UINT64_C(0x636c6f7564), own, 0};
    size_t width = (size_t)scene->width;
    for (int32_t y = 0; y < scene->height; y++) {
        /* The row's brightness is kept in the maps' row until the probabilities overwrite it; a
         * pixel has at least one class. */
        float *row = ret_maps + (size_t)y * width * (size_t)scene->classes;
        fill_logits(scene, offsets, y);
        look_at_row(scene, &fruit, &pose, y, row);
        expose(row, scene->width, scene->seed + own, y, ret_photograph + (size_t)y * width);
        softmax(scene, row);
    }
}
