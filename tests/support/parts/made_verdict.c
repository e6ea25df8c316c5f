#include "tests/support/parts/made_verdict.h"

#include "src/formats/verdict/fields.h"
#include "src/formats/verdict/kind.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

#define VIEWS           4
#define DEFECTS_MAX     4 /* of a view */
#define POINTS          40
#define STARTED_NS      UINT64_C(1790000000000000000)
#define FRUIT_NS        (CRN_NS_PER_S / 10)
#define UNSIGNED        crn_encoder_pair_unsigned
#define REAL            crn_encoder_pair_real
#define LATE_ONCE_IN    50
#define LOST_ONCE_IN    20
#define SETTINGS_CHANGE 100000 /* sequences */
#define LOT_BEGINS      20

const char *const crn_made_classes[CRN_MADE_CLASSES] = {"rot", "rust", "hail \"2\""};

/* One fruit before it is packed. */
typedef struct made_fruit {
    bool is_late, is_lost[VIEWS];
    uint32_t defects[VIEWS];
    struct {
        int class;
        double area_px;
    } defect[VIEWS * DEFECTS_MAX];
    uint64_t count[CRN_MADE_CLASSES];
    double area_px[CRN_MADE_CLASSES];
} made_fruit;

static made_fruit make_fruit(crn_random *random)
{
    made_fruit fruit = {.is_late = crn_random_once_in(random, LATE_ONCE_IN)};
    uint32_t at = 0;
    for (int view = 0; view < VIEWS; view++) {
        fruit.is_lost[view] = fruit.is_late || crn_random_once_in(random, LOST_ONCE_IN);
        fruit.defects[view] = fruit.is_lost[view] ? 0 : crn_random_below(random, DEFECTS_MAX);
        for (uint32_t i = 0; i < fruit.defects[view]; i++, at++) {
            fruit.defect[at].class = (int)crn_random_below(random, CRN_MADE_CLASSES);
            fruit.defect[at].area_px = 0.5 * crn_random_below(random, 2000);
            fruit.count[fruit.defect[at].class]++;
            fruit.area_px[fruit.defect[at].class] += fruit.defect[at].area_px;
        }
    }
    return fruit;
}

static void pack_views(crn_encoder *e, const made_fruit *fruit, uint64_t captured_ns,
                       crn_made_sums *sums)
{
    crn_encoder_text(e, CRN_KEY(verdict, view_states));
    crn_encoder_array(e, VIEWS);
    for (uint32_t view = 0; view < VIEWS; view++) {
        bool is_lost = fruit->is_lost[view];
        crn_encoder_map(e, CRN_KEYS_view_always);
        UNSIGNED(e, CRN_KEY(view, view), view);
        crn_encoder_pair_text(e, CRN_KEY(view, state), is_lost ? "lost" : "judged");
        crn_encoder_pair_text(e, CRN_KEY(view, reason), is_lost ? "no_slot" : "");
        UNSIGNED(e, CRN_KEY(view, captured_ns), captured_ns + view * 5 * CRN_NS_PER_MS);
        UNSIGNED(e, CRN_KEY(view, encoder), 1000 + view);
        crn_encoder_pair_ms(e, CRN_KEY(view, received_ms), view * 5 * CRN_NS_PER_MS);
        crn_encoder_pair_ms(e, CRN_KEY(view, queue_ms), 12345);
        crn_encoder_text(e, CRN_KEY(view, run_ms));
        if (is_lost)
            crn_encoder_null(e);
        else
            crn_encoder_real(e, 0.5 * (view + 1));
        crn_encoder_pair_text(e, CRN_KEY(view, backend), is_lost ? "" : "openmp");
        crn_encoder_map_end(e);
        sums->run_us += is_lost ? 0 : 500 * (view + 1);
        sums->lost_views += is_lost;
    }
    crn_encoder_array_end(e);
    sums->views += VIEWS;
}

static void pack_totals(crn_encoder *e, const made_fruit *fruit, crn_made_sums *sums)
{
    crn_encoder_text(e, CRN_KEY(verdict, totals));
    crn_encoder_map(e, CRN_MADE_CLASSES);
    for (int class = 0; class < CRN_MADE_CLASSES; class ++) {
        crn_encoder_text(e, crn_made_classes[class]);
        crn_encoder_map(e, CRN_KEYS_total);
        UNSIGNED(e, CRN_KEY(total, count), fruit->count[class]);
        REAL(e, CRN_KEY(total, area_px), fruit->area_px[class]);
        REAL(e, CRN_KEY(total, level), 0.25 * (class + 1));
        crn_encoder_map_end(e);
        sums->found[class] += fruit->count[class] > 0;
        sums->area_px[class] += fruit->area_px[class];
    }
    crn_encoder_map_end(e);
}

static void pack_numbers(crn_encoder *e, const char *key, const double *numbers, uint32_t count)
{
    crn_encoder_text(e, key);
    crn_encoder_array(e, count);
    for (uint32_t i = 0; i < count; i++)
        crn_encoder_real(e, numbers[i]);
    crn_encoder_array_end(e);
}

static void pack_defects(crn_encoder *e, const made_fruit *fruit, crn_made_sums *sums)
{
    static const float xy[2 * POINTS];
    uint32_t count = 0, at = 0;
    for (int view = 0; view < VIEWS; view++)
        count += fruit->defects[view];
    crn_encoder_text(e, CRN_KEY(verdict, defects));
    crn_encoder_array(e, count);
    for (uint32_t view = 0; view < VIEWS; view++)
        for (uint32_t i = 0; i < fruit->defects[view]; i++, at++) {
            int class = fruit->defect[at].class;
            double area = fruit->defect[at].area_px;
            crn_encoder_map(e, CRN_KEYS_defect_always);
            UNSIGNED(e, CRN_KEY(defect, view), view);
            crn_encoder_pair_text(e, CRN_KEY(defect, class), crn_made_classes[class]);
            REAL(e, CRN_KEY(defect, level), 0.25 * (class + 1));
            crn_encoder_pair_bool(e, CRN_KEY(defect, closed), true);
            crn_encoder_pair_bool(e, CRN_KEY(defect, hole), false);
            crn_encoder_text(e, CRN_KEY(defect, parent));
            crn_encoder_integer(e, -1);
            REAL(e, CRN_KEY(defect, area_px), area);
            REAL(e, CRN_KEY(defect, perimeter_px), area / 3);
            pack_numbers(e, CRN_KEY(defect, bbox), (double[]){10.25, 20.5, 31.75, 40}, 4);
            pack_numbers(e, CRN_KEY(defect, centroid), (double[]){21.5, 30.25}, 2);
            REAL(e, CRN_KEY(defect, mean_probability), 0.5 + area / 10000);
            crn_encoder_text(e, CRN_KEY(defect, xy));
            crn_encoder_points(e, xy, POINTS);
            crn_encoder_map_end(e);
            sums->defect_area[class] += area;
        }
    crn_encoder_array_end(e);
    sums->defects += count;
}

static void pack_head(crn_encoder *e, const made_fruit *fruit, const crn_made_facts *facts)
{
    uint64_t sequence = facts->sequence;
    uint64_t captured_ns = STARTED_NS + sequence * FRUIT_NS;
    UNSIGNED(e, CRN_KEY(verdict, v), 1);
    crn_encoder_pair_text(e, CRN_KEY(verdict, run), facts->run);
    crn_encoder_pair_text(e, CRN_KEY(verdict, settings),
                          sequence / SETTINGS_CHANGE % 2 ? "0123456789abcdef" : "fedcba9876543210");
    crn_encoder_pair_text(e, CRN_KEY(verdict, recipe),
                          sequence / SETTINGS_CHANGE % 2 ? "gala" : "");
    crn_encoder_pair_text(e, CRN_KEY(verdict, lot), sequence < LOT_BEGINS ? "" : CRN_MADE_LOT);
    UNSIGNED(e, CRN_KEY(verdict, lane), facts->lane);
    UNSIGNED(e, CRN_KEY(verdict, epoch), UINT64_MAX);
    UNSIGNED(e, CRN_KEY(verdict, fruit), sequence + 1);
    UNSIGNED(e, CRN_KEY(verdict, sequence), sequence);
    crn_encoder_pair_bool(e, CRN_KEY(verdict, stale), fruit->is_late);
    UNSIGNED(e, CRN_KEY(verdict, encoder), 40 * sequence);
    UNSIGNED(e, CRN_KEY(verdict, captured_ns), captured_ns);
    UNSIGNED(e, CRN_KEY(verdict, published_ns), captured_ns + 80 * CRN_NS_PER_MS + 123);
    UNSIGNED(e, CRN_KEY(verdict, deadline_ns), captured_ns + 150 * CRN_NS_PER_MS);
    crn_encoder_pair_text(
        e, CRN_KEY(verdict, verdict),
        crn_verdict_kind_names[fruit->is_late ? CRN_VERDICT_LATE : CRN_VERDICT_COMPLETE]);
    UNSIGNED(e, CRN_KEY(verdict, views_expected), VIEWS);
    UNSIGNED(e, CRN_KEY(verdict, views_received), VIEWS);
    UNSIGNED(e, CRN_KEY(verdict, views_judged), VIEWS);
    crn_encoder_pair_bool(e, CRN_KEY(verdict, truncated), false);
    REAL(e, CRN_KEY(verdict, budget_ms), 100);
    crn_encoder_text(e, CRN_KEY(verdict, latency_ms));
    crn_encoder_map(e, 1);
    REAL(e, CRN_KEY(time, total), 31.25);
    crn_encoder_map_end(e);
    REAL(e, CRN_KEY(verdict, assembly_ms), 15.125);
    crn_encoder_pair_text(e, CRN_KEY(verdict, closed_by), "views");
}

#define PAIRS_OF_HEAD 23

void crn_made_verdict(crn_encoder *encoder, crn_random *random, const crn_made_facts *facts,
                      crn_made_sums *sums, const unsigned char **ret_bytes, size_t *ret_size)
{
    made_fruit fruit = make_fruit(random);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, PAIRS_OF_HEAD + 3);
    pack_head(encoder, &fruit, facts);
    pack_views(encoder, &fruit, STARTED_NS + facts->sequence * FRUIT_NS, sums);
    pack_totals(encoder, &fruit, sums);
    pack_defects(encoder, &fruit, sums);
    crn_encoder_map_end(encoder);
    assert_int_equal(crn_encoder_end(encoder, ret_bytes, ret_size), 0);
    sums->fruits++;
    sums->of_lot += facts->sequence >= LOT_BEGINS;
    sums->late += fruit.is_late;
    sums->bytes += *ret_size;
}

void crn_verdict_pair_make(crn_verdict_pair *pair, crn_random *random, uint64_t sequence,
                           crn_made_sums sums[2])
{
    crn_error error;
    for (int run = 0; run < 2; run++) {
        crn_made_facts facts = {run ? "2" : "1", 3, sequence};
        const unsigned char *bytes;
        size_t size;
        assert_int_equal(
            crn_encoder_create(run ? CRN_FORMAT_JSON : CRN_FORMAT_MSGPACK, &pair->encoder[run]), 0);
        crn_made_verdict(pair->encoder[run], random, &facts, &sums[run], &bytes, &size);
        assert_int_equal(crn_messagepack_json_init(&pair->packed[run], bytes, size, &error), 0);
        assert_int_equal(crn_decode(&pair->packed[run], &pair->verdict[run], &error), 0);
    }
}

void crn_verdict_pair_drop(crn_verdict_pair *pair)
{
    for (int run = 0; run < 2; run++) {
        crn_decoded_free(&pair->verdict[run]);
        crn_messagepack_json_done(&pair->packed[run]);
        crn_encoder_free(&pair->encoder[run]);
    }
}
