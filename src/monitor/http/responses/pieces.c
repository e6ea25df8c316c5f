#include "src/monitor/http/responses/pieces.h"

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* Bytes that libmicrohttpd asks for at once. */
#define BLOCK_BYTES 32768

static ssize_t read_pieces(void *context, uint64_t position, char *buffer, size_t capacity)
{
    crn_piece_source *source = context;
    (void)position;
    size_t copied = 0;
    while (copied < capacity &&
           (source->size > 0 || source->next(source, &source->bytes, &source->size))) {
        size_t room = capacity - copied;
        size_t part = source->size < room ? source->size : room;
        memcpy(buffer + copied, source->bytes, part);
        source->bytes += part;
        source->size -= part;
        copied += part;
    }
    return copied ? (ssize_t)copied : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_source(void *context)
{
    crn_piece_source *source = context;
    source->free(source);
}

struct MHD_Response *crn_pieces_answer(crn_piece_source *source)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_pieces, source, free_source);
    if (!response)
        source->free(source);
    return response;
}
