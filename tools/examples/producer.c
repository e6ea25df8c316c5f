/* Views to a line on the same machine without a copy: `producer SOCKET` sends a fruit of two views,
 * of the classes background and rot. SOCKET: ingest.slots.path of the line. */
#include <cernita_producer.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

/* As a CNN emits them: for each pixel the probability of each class. Here is a spot of rot. */
static void write_maps(float *maps, const crn_producer_view *view)
{
    for (uint32_t i = 0; i < view->height * view->width; i++) {
        int x = (int)(i % view->width) - 60, y = (int)(i / view->width) - 40;
        maps[2 * i + 1] = x * x + y * y < 100 ? 0.9F : 0.1F;
        maps[2 * i] = 1 - maps[2 * i + 1];
    }
}

/* Sends one view; where no slot is free, a header that says so. After -ENOTCONN, by which send has
 * given the slot back, a program that goes on connects again. */
static int send_view(crn_producer *producer, const crn_producer_view *view)
{
    crn_producer_slot slot;
    int result = crn_producer_take(producer, view, 100, &slot);
    if (result == -EAGAIN)
        return crn_producer_send_without(producer, view);
    if (result < 0)
        return result;
    write_maps(slot.tensor, view);
    result = crn_producer_send(producer, view, &slot);
    if (result == -EAGAIN)
        crn_producer_drop(producer, &slot);
    return result;
}

int main(int count, char **arguments)
{
    static const char *const classes[] = {"background", "rot"};
    crn_producer_view view = {.epoch = (uint64_t)time(NULL),
                              .fruit = 1,
                              .class_set = crn_producer_class_set(classes, 2),
                              .views = 2,
                              .height = 95,
                              .width = 511,
                              .channels = 2,
                              .type = CRN_PRODUCER_F32,
                              .layout = CRN_PRODUCER_HWC};
    const crn_producer_settings settings = {.path = count == 2 ? arguments[1] : NULL,
                                            .view_bytes = crn_producer_view_bytes(&view)};
    crn_producer *producer = NULL;
    if (crn_producer_create(&settings, &producer) < 0) {
        fprintf(stderr, "usage: producer SOCKET\n");
        return 2;
    }
    int result = crn_producer_connect(producer, crn_producer_answer_ms(&settings));
    for (; result == 0 && view.view < view.views; view.view++, view.sequence++)
        result = send_view(producer, &view);
    if (result < 0)
        fprintf(stderr, "producer: %s\n", crn_producer_error(producer));
    crn_producer_free(&producer);
    return result < 0;
}
