#include "src/monitor/http/responses/maps.h"

#include <errno.h>
#include <stdlib.h>

#include "src/formats/view/maps_format.h"
#include "src/monitor/http/responses/pieces.h"
#include "stages/base/little_endian.h"

/* The views that are sent to one reader. */
typedef struct views {
    crn_piece_source source;
    crn_kept_maps *maps;
    crn_kept_fruit fruit;
    int *open;
    crn_kept_copy copy;                      /* the view being sent */
    unsigned char head[CRN_MAPS_HEAD_BYTES]; /* before its bytes */
    bool held, head_sent;                    /* a view was copied; its head was sent */
    uint32_t next;                           /* lowest index of the view after it */
} views;

/* Copies the next view: 1, 0 if there is none, or -ENOMEM. */
static int hold(views *self)
{
    int r = crn_kept_maps_copy(self->maps, &self->fruit, self->next, &self->copy);
    if (r != 1)
        return r;
    self->held = true;
    self->next = self->copy.header.view + 1u;
    crn_put_le64(self->head, self->copy.arrived_ns);
    crn_wire_pack(&self->copy.header, self->head + 8);
    return 1;
}

static bool next_piece(crn_piece_source *source, const unsigned char **ret_bytes, size_t *ret_size)
{
    views *self = (views *)source;
    if (!self->held && hold(self) != 1)
        return false;
    if (!self->head_sent) {
        self->head_sent = true;
        *ret_bytes = self->head;
        *ret_size = sizeof self->head;
        return true;
    }
    self->held = self->head_sent = false;
    *ret_bytes = self->copy.bytes;
    *ret_size = self->copy.size;
    return true;
}

static void free_views(crn_piece_source *source)
{
    views *self = (views *)source;
    --*self->open;
    free(self->copy.bytes);
    free(self);
}

struct MHD_Response *crn_maps_open(crn_kept_maps *maps, const crn_kept_fruit *fruit, int *open,
                                   int *ret_error)
{
    views *self = calloc(1, sizeof *self);
    *ret_error = -ENOMEM;
    if (!self)
        return NULL;
    self->source = (crn_piece_source){.next = next_piece, .free = free_views};
    self->maps = maps;
    self->fruit = *fruit;
    self->open = open;
    ++*open;
    *ret_error = hold(self);
    if (*ret_error == 1) {
        *ret_error = -ENOMEM;
        return crn_pieces_answer(&self->source);
    }
    free_views(&self->source);
    return NULL;
}
