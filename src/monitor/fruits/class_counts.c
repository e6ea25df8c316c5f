#include "src/monitor/fruits/class_counts.h"

#include <stdio.h>
#include <string.h>

#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/clock.h"

/* The place of a second, emptied if it was of another one. */
static int32_t place_of(crn_class_counts *counts, int64_t second)
{
    int32_t place = (int32_t)(second % CRN_CLASS_COUNTS_SECONDS);
    if (counts->second[place] != second)
        for (int32_t i = 0; i < counts->class_count; i++)
            counts->classes[i].fruits[place] = 0;
    counts->second[place] = second;
    return place;
}

/* Its index, or -1: there are too many. */
static int32_t index_of(crn_class_counts *counts, const char *name)
{
    for (int32_t i = 0; i < counts->class_count; i++)
        if (strcmp(counts->classes[i].name, name) == 0)
            return i;
    if (counts->class_count == CRN_CLASSES_MAX)
        return -1;
    snprintf(counts->classes[counts->class_count].name, CRN_CLASS_NAME_MAX, "%s", name);
    return counts->class_count++;
}

static crn_decoded *decode(const crn_flight_fruit *fruit)
{
    crn_messagepack_json packed;
    crn_decoded *verdict = NULL;
    crn_error error;
    if (crn_messagepack_json_init(&packed, fruit->record + CRN_VERDICT_RECORD_BYTES,
                                  fruit->size - CRN_VERDICT_RECORD_BYTES, &error) < 0)
        return NULL;
    if (crn_decode_head(&packed, &verdict, &error) < 0)
        verdict = NULL;
    crn_messagepack_json_done(&packed);
    return verdict;
}

void crn_class_counts_add(crn_class_counts *counts, const crn_flight_fruit *fruit)
{
    crn_decoded *verdict = decode(fruit);
    if (!verdict)
        return;
    int32_t place = place_of(counts, fruit->published_ns / CRN_NS_PER_S);
    counts->fruits++;
    for (uint32_t i = 0; i < verdict->total_count; i++) {
        int32_t index = index_of(counts, verdict->totals[i].name);
        if (index < 0)
            continue;
        counts->classes[index].looked_for = counts->fruits;
        counts->classes[index].fruits[place] += verdict->totals[i].count > 0;
    }
    crn_decoded_free(&verdict);
}

static bool is_looked_for(const crn_class_counts *counts, int32_t index)
{
    return counts->classes[index].looked_for == counts->fruits;
}

void crn_class_counts_put(const crn_class_counts *counts, int64_t now_ns, crn_encoder *encoder)
{
    int64_t first = now_ns / CRN_NS_PER_S - CRN_CLASS_COUNTS_SECONDS + 1;
    uint32_t shown = 0;
    for (int32_t i = 0; i < counts->class_count; i++)
        shown += is_looked_for(counts, i);
    crn_encoder_map(encoder, shown);
    for (int32_t i = 0; i < counts->class_count; i++) {
        uint64_t sum = 0;
        if (!is_looked_for(counts, i))
            continue;
        for (int place = 0; place < CRN_CLASS_COUNTS_SECONDS; place++)
            if (counts->second[place] >= first)
                sum += counts->classes[i].fruits[place];
        crn_encoder_pair_unsigned(encoder, counts->classes[i].name, sum);
    }
    crn_encoder_map_end(encoder);
}
