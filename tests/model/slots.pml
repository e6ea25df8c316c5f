/*
 * The slots of src/ingest/slots as states and messages: a producer and a daemon, each of which may
 * be killed once, at any step. check_slots searches all of its runs.
 *
 * It holds that
 * - the line reads a slot only while its word says sent, and finds the view there that was announced;
 * - no view is judged twice, and each that was sent is judged or counted as refused, unless somebody
 *   was killed;
 * - whoever waits for a slot gets one, and in the end all are free, in the generation of the line's
 *   book: none is lost.
 *
 * Left out are time (10 s and latency.assemble_ms may have passed at any moment), hello and answer,
 * and the order of stores within a processor. Each FAULT_… leaves out what the search must miss.
 */
#ifndef RINGS
#define RINGS 2 /* connections, one after the other */
#endif
#define SLOTS 2
#ifndef VIEWS
#define VIEWS 2 /* of the first connection */
#endif
#define VIEWS_OF(r) (r == 0 -> VIEWS : 1)
#ifndef FAILURES
#define FAILURES 1 /* of sends, of a producer: more only make generations wrap around */
#endif

/* What a word says, beside its generation. */
#define FREE    0
#define FILLING 1
#define SENT    2

typedef ring_type {
    byte state[SLOTS], generation[SLOTS]; /* the page of states */
    byte first[SLOTS], second[SLOTS];     /* both halves of what lies in the slot: a view's number */
    byte book[SLOTS];                     /* the line's: its generation */
    bool in_use[SLOTS];                   /* the line's: holds a view */
    byte owner;                           /* the daemon that made it */
    bool has_left;                        /* the producer hung up, or was killed */
    bool is_closed;                       /* the daemon hung up, or was killed */
    bool is_freed;
    byte sent, judged, refused;           /* views */
    bool was_judged[VIEWS]
}
ring_type ring[RINGS];
byte rings; /* made so far */

typedef connection_type {
    chan packets = [1] of { byte, byte, byte }; /* slot, generation, view */
    chan wakes = [1] of { bit }
}
connection_type connection[RINGS];
chan zeromq = [1] of { byte, byte, byte, byte }; /* ring, slot, generation, view */
chan jobs = [SLOTS] of { byte, byte, byte, byte };
chan results = [SLOTS] of { byte, byte }; /* ring, slot */

byte producer_number, daemon_number; /* of those that live */

/* Compare and swap of a word, for which a generation and a state stand. */
inline change(r, s, g, old, new, ret_changed)
{
    d_step {
        ret_changed = (ring[r].generation[s] == g && ring[r].state[s] == old);
        if
        :: ret_changed -> ring[r].state[s] = new
        :: else
        fi
    }
}

inline store(r, s, g, new)
{
    d_step {
        ring[r].generation[s] = g;
        ring[r].state[s] = new
    }
}

/* --- the producer --- */

#define IS_ALL_DONE(r)                                                                             \
    (ring[r].state[0] == FREE && ring[r].state[1] == FREE &&                                       \
     ring[r].sent == ring[r].judged + ring[r].refused)

proctype producer(byte number)
{
    byte r, s, g, view, failures;
    bool changed, by_zeromq;
    {
        skip;
connect:
        atomic {
            if
            :: rings < RINGS ->
                r = rings;
                ring[r].owner = daemon_number;
                rings++;
                view = 0
            :: else -> goto over
            fi
        };
        if
        :: by_zeromq = true
        :: by_zeromq = false
        fi;
take:
        atomic {
            do
            :: connection[r].wakes?_
            :: empty(connection[r].wakes) -> break
            od;
            s = 0
        };
        do
        :: atomic { s < SLOTS ->
            g = ring[r].generation[s];
            change(r, s, g, FREE, FILLING, changed);
            if
            :: changed -> break
            :: else -> s++
            fi }
        :: else ->
            if
            :: atomic { connection[r].wakes?_ -> goto take }
            :: atomic { ring[r].is_closed && empty(connection[r].wakes) -> goto connect }
            fi
        od;
        ring[r].first[s] = view;
        ring[r].second[s] = view;
        store(r, s, g, SENT);
        if
        :: by_zeromq && nfull(zeromq) -> d_step { zeromq!r,s,g,view; ring[r].sent++; view++ }
        :: !by_zeromq && !ring[r].is_closed && nfull(connection[r].packets) ->
            d_step { connection[r].packets!s,g,view; ring[r].sent++; view++ }
        :: (failures < FAILURES && by_zeromq && full(zeromq)) ||
           (failures < FAILURES && !by_zeromq && full(connection[r].packets)) ||
           ring[r].is_closed -> /* the send fails */
            failures++;
#ifdef FAULT_STORE_AFTER_FAILED_SEND
            store(r, s, g, FREE)
#else
            change(r, s, g, SENT, FREE, changed)
#endif
        fi;
        if
        :: atomic { ring[r].is_closed -> goto connect }
        :: atomic { !ring[r].is_closed && view < VIEWS_OF(r) -> goto take }
        :: atomic { !ring[r].is_closed && view == VIEWS_OF(r) }
        fi;
        if /* a slot that was lost would keep it here for ever */
        :: IS_ALL_DONE(r) && !ring[r].is_closed ->
            assert(ring[r].generation[0] == ring[r].book[0]);
            assert(ring[r].generation[1] == ring[r].book[1])
        :: ring[r].is_closed
        fi;
        ring[r].has_left = true;
over:
        skip
    } unless { producer_number != number }
}

/* --- the line's thread --- */

inline wake(r)
{
    if
#ifndef FAULT_NO_WAKE
    :: nfull(connection[r].wakes) -> connection[r].wakes!1
    :: full(connection[r].wakes)
#else
    :: skip
#endif
    fi
}

inline free_slot(r, s)
{
    d_step {
        ring[r].book[s]++;
        ring[r].generation[s] = ring[r].book[s];
        ring[r].state[s] = FREE
    };
    wake(r)
}

/* The producer may change its mind just now: the word must still say that it was sent. */
inline take_back(r, s)
{
#ifdef FAULT_STORE_AT_TAKE_BACK
    free_slot(r, s)
#else
    d_step {
        if
        :: ring[r].generation[s] == ring[r].book[s] && ring[r].state[s] == SENT ->
            ring[r].generation[s]++;
            ring[r].state[s] = FREE;
            ring[r].book[s]++
        :: else
        fi
    };
    wake(r)
#endif
}

#ifdef FAULT_NO_GENERATION
#define IS_RIGHT(r, s, g) (!ring[r].in_use[s])
#else
#define IS_RIGHT(r, s, g) (!ring[r].in_use[s] && g == ring[r].book[s])
#endif

inline accept(r, s, g, view)
{
    if
    :: IS_RIGHT(r, s, g) ->
        ring[r].in_use[s] = true;
#ifdef FAULT_FREE_BEFORE_READ
        store(r, s, g + 1, FREE);
#endif
        jobs!r,s,g,view
    :: else -> ring[r].refused++
    fi
}

#define IS_MINE(r) (r < rings && ring[r].owner == number && !ring[r].is_freed)

/* No header came for 10 s. */
#define IS_LOST(r, s)                                                                              \
    (IS_MINE(r) && !ring[r].in_use[s] && ring[r].state[s] == SENT &&                               \
     ring[r].generation[s] == ring[r].book[s])

#define CAN_CLOSE(r)                                                                               \
    (IS_MINE(r) && ring[r].has_left && !ring[r].is_closed && empty(connection[r].packets))

#ifdef FAULT_FREE_RING_IN_USE
#define CAN_FREE(r) (IS_MINE(r) && ring[r].has_left && ring[r].is_closed)
#else
#define CAN_FREE(r)                                                                                \
    (IS_MINE(r) && ring[r].has_left && ring[r].is_closed && !ring[r].in_use[0] &&                  \
     !ring[r].in_use[1])
#endif

/* What the line's thread may do with a ring. */
#define WITH_RING(r)                                                                               \
    :: atomic { IS_MINE(r) && nempty(connection[r].packets) -> connection[r].packets?s,g,view;     \
                accept(r, s, g, view) }                                                            \
    :: IS_LOST(r, 0) -> take_back(r, 0)                                                            \
    :: IS_LOST(r, 1) -> take_back(r, 1)                                                            \
    :: CAN_CLOSE(r) -> ring[r].is_closed = true                                                    \
    :: CAN_FREE(r) -> ring[r].is_freed = true

proctype line(byte number)
{
    byte from, s, g, view;
    {
        skip;
end:
        do
        WITH_RING(0)
        WITH_RING(1)
#if RINGS > 2
        WITH_RING(2)
#endif
        :: atomic { zeromq?from,s,g,view ->
            if
            :: IS_MINE(from) -> accept(from, s, g, view)
            :: else -> ring[from].refused++
            fi }
        :: atomic { results?from,s -> ring[from].in_use[s] = false; ring[from].judged++ };
            free_slot(from, s)
        od
    } unless { daemon_number != number }
}

inline look(r, s, g, half, view)
{
    assert(!ring[r].is_freed && !ring[r].was_judged[view] && half == view);
    assert(ring[r].state[s] == SENT && ring[r].generation[s] == g)
}

proctype worker(byte number)
{
    byte r, s, g, view;
    {
        skip;
end:
        do
        :: atomic { jobs?r,s,g,view -> look(r, s, g, ring[r].first[s], view) };
            atomic { look(r, s, g, ring[r].second[s], view); ring[r].was_judged[view] = true; results!r,s }
        od
    } unless { daemon_number != number }
}

/* --- deaths: each at some moment, or never --- */

proctype producers_death()
{
    byte r;
    if
    :: atomic {
            producer_number++;
            for (r : 0 .. RINGS - 1) {
                if
                :: r < rings -> ring[r].has_left = true
                :: else
                fi
            };
            run producer(producer_number)
       }
    :: skip
    fi
}

/* Headers in ZeroMQ wait for the next daemon, which does not know their ring. */
proctype daemons_death()
{
    byte r;
    if
    :: atomic {
            daemon_number++;
            for (r : 0 .. RINGS - 1) {
                if
                :: r < rings -> ring[r].is_closed = true; ring[r].is_freed = true
                :: else
                fi
            };
            do
            :: jobs?_,_,_,_
            :: results?_,_
            :: empty(jobs) && empty(results) -> break
            od;
            run line(daemon_number);
            run worker(daemon_number)
       }
    :: skip
    fi
}

init {
    atomic {
        run producer(0);
        run line(0);
        run worker(0);
#ifndef NO_PRODUCERS_DEATH
        run producers_death();
#endif
#ifndef NO_DAEMONS_DEATH
        run daemons_death();
#endif
    }
}
