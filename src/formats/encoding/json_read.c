#include "src/formats/encoding/json_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack/pack.h>
#include <yajl/yajl_parse.h>

#include "src/formats/encoding/messagepack_check.h"

#define NUMBER_BYTES 64 /* doubles and 64-bit integers need less */

/* Arrays and maps are written with a length of 32 bits, which is filled in when they end. */
#define ARRAY32      0xdd
#define MAP32        0xdf
#define HEADER_BYTES 5

/* State of one conversion: no recursion, and nothing but the buffer grows. */
typedef struct json_reader {
    msgpack_packer packer;
    msgpack_sbuffer *buffer;
    struct {
        size_t header;  /* offset in the buffer */
        uint32_t count; /* values so far; of a map without its keys */
    } open[CRN_PACKED_DEPTH_MAX];
    int depth;
    int failure; /* why a callback stopped the parser: -EBADMSG or -ENOMEM */
    const char *fault;
} json_reader;

static int stop(json_reader *self, int failure, const char *fault)
{
    self->failure = failure;
    self->fault = fault;
    return 0; /* makes yajl stop */
}

/* `packed` is what libmsgpack returned; 1 lets yajl go on. */
static int go_on(json_reader *self, int packed)
{
    return packed < 0 ? stop(self, -ENOMEM, "no memory") : 1;
}

static void count_value(json_reader *self)
{
    if (self->depth)
        self->open[self->depth - 1].count++;
}

static int begin(json_reader *self, uint8_t type)
{
    static_assert(CRN_PACKED_DEPTH_MAX == 32, "the text below names it");
    const char header[HEADER_BYTES] = {(char)type};
    if (self->depth == CRN_PACKED_DEPTH_MAX)
        return stop(self, -EBADMSG, "nested more than 32 deep");
    count_value(self);
    self->open[self->depth].header = self->buffer->size;
    self->open[self->depth++].count = 0;
    return go_on(self, msgpack_sbuffer_write(self->buffer, header, sizeof header));
}

static int end(void *context)
{
    json_reader *self = context;
    self->depth--;
    uint32_t count = self->open[self->depth].count;
    unsigned char *length =
        (unsigned char *)self->buffer->data + self->open[self->depth].header + 1;
    for (int i = 0; i < 4; i++)
        length[i] = (unsigned char)(count >> (24 - 8 * i));
    return 1;
}

static int read_null(void *context)
{
    json_reader *self = context;
    count_value(self);
    return go_on(self, msgpack_pack_nil(&self->packer));
}

static int read_bool(void *context, int value)
{
    json_reader *self = context;
    count_value(self);
    return go_on(self,
                 value ? msgpack_pack_true(&self->packer) : msgpack_pack_false(&self->packer));
}

/* Exact where it is a whole number of up to 64 bits. */
static int read_number(void *context, const char *digits, size_t length)
{
    json_reader *self = context;
    char text[NUMBER_BYTES], *rest;
    if (length >= sizeof text)
        return stop(self, -EBADMSG, "a number of more than 63 characters");
    memcpy(text, digits, length);
    text[length] = '\0';
    count_value(self);
    errno = 0;
    if (text[0] == '-') {
        long long integer = strtoll(text, &rest, 10);
        if (!*rest && !errno)
            return go_on(self, msgpack_pack_int64(&self->packer, integer));
    } else {
        unsigned long long whole = strtoull(text, &rest, 10);
        if (!*rest && !errno)
            return go_on(self, msgpack_pack_uint64(&self->packer, whole));
    }
    return go_on(self, msgpack_pack_double(&self->packer, strtod(text, NULL)));
}

static int pack_text(json_reader *self, const unsigned char *text, size_t length)
{
    int r = msgpack_pack_str(&self->packer, length);
    return go_on(self, r < 0 ? r : msgpack_pack_str_body(&self->packer, text, length));
}

static int read_text(void *context, const unsigned char *text, size_t length)
{
    json_reader *self = context;
    count_value(self);
    return pack_text(self, text, length);
}

static int read_key(void *context, const unsigned char *text, size_t length)
{
    return pack_text(context, text, length);
}

static int begin_map(void *context)
{
    return begin(context, MAP32);
}

static int begin_array(void *context)
{
    return begin(context, ARRAY32);
}

static int fail(yajl_handle parser, const json_reader *self, size_t size, crn_error *error)
{
    if (self->failure == -ENOMEM)
        return crn_error_set(error, -ENOMEM, "no memory for %zu bytes of JSON", size);
    if (self->failure)
        return crn_error_set(error, -EBADMSG, "not good JSON: %s", self->fault);
    unsigned char *reason = yajl_get_error(parser, 0, NULL, 0);
    if (reason)
        reason[strcspn((char *)reason, "\n")] = '\0';
    crn_error_set(error, -EBADMSG, "not good JSON: %s", reason ? (char *)reason : "no memory");
    yajl_free_error(parser, reason);
    return -EBADMSG;
}

int crn_json_read(const void *text, size_t size, msgpack_sbuffer *buffer, crn_error *error)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = read_null,
        .yajl_boolean = read_bool,
        .yajl_number = read_number,
        .yajl_string = read_text,
        .yajl_start_map = begin_map,
        .yajl_map_key = read_key,
        .yajl_end_map = end,
        .yajl_start_array = begin_array,
        .yajl_end_array = end,
    };
    json_reader self = {.buffer = buffer};
    msgpack_packer_init(&self.packer, buffer, msgpack_sbuffer_write);
    yajl_handle parser = yajl_alloc(&callbacks, NULL, &self); /* without comments: its default */
    if (!parser)
        return crn_error_set(error, -ENOMEM, "no memory for %zu bytes of JSON", size);
    yajl_status status = yajl_parse(parser, text, size);
    if (status == yajl_status_ok)
        status = yajl_complete_parse(parser);
    int r = status == yajl_status_ok ? 0 : fail(parser, &self, size, error);
    yajl_free(parser);
    return r;
}
