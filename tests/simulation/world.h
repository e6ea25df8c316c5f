/*
 * What is true of the views and fruits of a run, kept beside the line and compared with what it
 * does at each step: exactly one verdict per fruit, of the views that came, in time or said to be
 * late; every message accounted for. The program's own functions are wrapped to hear of each step
 * (watch.c); nothing of their logic is repeated here.
 */
#ifndef CRN_TESTS_SIMULATION_WORLD_H
#define CRN_TESTS_SIMULATION_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/verdict/decode.h"
#include "src/fruit/fruit.h"
#include "src/line/line.h"
#include "tests/simulation/machine/sockets.h"

#define CRN_SIM_FRUITS_MAX 4096
#define CRN_SIM_VIEWS_MAX  6
#define CRN_SIM_LANES_MAX  4

/* A fruit as its sender knows it, and what became of it. */
typedef struct sim_fruit {
    uint64_t epoch, fruit;
    uint32_t lane;
    uint16_t views;        /* that exist */
    uint16_t told;         /* that the header says: the same, or 0 */
    uint32_t read;         /* views that the line has read, a bit each */
    uint32_t spoilt;       /* views of which the line has read a message that it must refuse */
    int64_t first_read_ns; /* when it read the first valid one */
    int64_t last_read_ns;  /* and the last one */
    int64_t collected_ns;  /* when it last took a finished view back */
    uint64_t view_deadline_ns[CRN_SIM_VIEWS_MAX]; /* of its headers, CLOCK_REALTIME; 0: none */
    int64_t header_ns;   /* the earliest of those that were read, CLOCK_MONOTONIC; 0: none */
    int64_t deadline_ns; /* as published, CLOCK_MONOTONIC */
    uint64_t sequence;
    uint32_t judged; /* views with results */
    bool is_published, is_sent, is_received, is_logged;
    crn_verdict_kind kind;
} sim_fruit;

/* What the line's own counters must say. */
typedef struct sim_counts {
    uint64_t messages, refused, wanted, duplicates, stragglers, opened;
    uint64_t verdicts, complete, partial, late, sent, stale, lost_in_transit, received;
    uint64_t judged, failed;
    uint64_t lost_before; /* messages that never reached the line */
    uint64_t logged, log_dropped, log_failed;
} sim_counts;

typedef struct sim_world {
    crn_line *line;
    const crn_config *config;
    sim_fruit fruits[CRN_SIM_FRUITS_MAX];
    uint32_t fruit_count;
    uint64_t next_sequence[CRN_SIM_LANES_MAX]; /* of verdicts published */
    uint64_t last_sent[CRN_SIM_LANES_MAX];     /* 1 + sequence of the last one sent */
    uint64_t last_logged[CRN_SIM_LANES_MAX];   /* the same of the log */
    sim_counts counts;
    int64_t stop_ns;                   /* when it was asked to stop; 0: not yet */
    bool may_miss_budget;              /* threads are stalled, so that times are longer */
    uint32_t work_us_min, work_us_max; /* what a view takes */
    uint32_t fail_once_in;             /* views; 0: none fails */
    uint32_t slow_once_in;             /* views that take twenty times as long; 0: none */
} sim_world;

extern sim_world sim_w;

/* A message's tag: the fruit's index, its view, and whether the line must refuse it. */
#define CRN_SIM_TAG(index, view, is_bad) ((int64_t)(index) << 8 | (view) << 1 | (is_bad))

/* How many defects that view shows: so a view that is taken for another is found. */
uint32_t sim_defects_of(uint32_t index, uint32_t view);

/* The fruit that `encoder` of its header names; fails if there is none. */
sim_fruit *sim_fruit_of(uint64_t encoder);

/* Of sim_socket_watch. */
void sim_note_read(int64_t tag, int64_t arrived_ns);
int64_t sim_note_sent(const void *bytes, size_t size);
void sim_note_sent_in_vain(int64_t tag);

/* The log has this verdict. */
void sim_note_logged(const crn_decoded *verdict);

/* The grader has read this message. */
void sim_note_received(int64_t tag);

/* At any time before the line is asked to stop: no message waits for it. */
void sim_check_unread(void);

/* Steps of the line (watch.c). */
void sim_note_verdict(const crn_fruit *fruit, int64_t now_ns);
void sim_check_sequence(const crn_fruit *fruit, uint64_t sequence);
void sim_note_collected(const crn_view *view, int status, int64_t ended_ns);
void sim_check_counts(void);

/* After the line has stopped, before it is closed; and after that. */
void sim_check_stopped(const crn_metrics *metrics);
void sim_check_closed(void);

#endif
