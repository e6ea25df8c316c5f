/* Where the fields of a view message's header lie: for bad_messages.c and random_messages.c.
 * Written independently of wire.c so that the two verify each other. */
#ifndef CRN_TESTS_SUPPORT_PEERS_MESSAGE_FIELDS_H
#define CRN_TESTS_SUPPORT_PEERS_MESSAGE_FIELDS_H

enum {
    MAGIC = 0,
    HEADER_BYTES = 4,
    FLAGS = 6,
    VIEW = 60,
    VIEWS = 62,
    HEIGHT = 64,
    WIDTH = 68,
    CHANNELS = 72,
    DTYPE = 76,
    LAYOUT = 77,
    RESERVED = 78,
    CLASS_SET = 80,
    PAYLOAD = 88,
    POSE = 96,
    TAIL = 116,
};

#endif
