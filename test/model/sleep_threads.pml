/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Threads of one process that wait, and sleep (pml_fastpath_threads.c, common_fastpath_idle.c, btl_fastsm_sleep.h): two that
 * wait for a request each, and one that lets everything progress now and then. One of the former has the turn: it progresses
 * and may sleep in the segment, where messages end that; the other one sleeps until its request is complete or it is its turn.
 * Who comes while that one sleeps takes the turn. Requests are completed by whoever finds their messages, or by the third
 * thread.
 *
 * What the sender has published, and what a thread has completed, is visible to others at any time later, or with the next
 * membarrier; a thread sees its own at once. So a thread that reads whether somebody sleeps may do that before what it has
 * completed is visible. Sleeps have no other end than a wake-up.
 *
 * Checked in every interleaving: both requests are completed, and both threads see that (no invalid end state).
 *
 * SCENE  1  each waits for a message
 *        2  one waits for what the third thread does without a message
 *        3  as 1, and the second one never has the turn: it progresses and sleeps on its own, as a probe does
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  no membarrier
 *   2  who completes something for another thread does not wake it
 *   3  a wake-up ends one sleep only
 *   4  a thread sleeps though its look has left something out that another thread was looking at
 *   5  no membarrier where another thread has announced that it sleeps
 *   6  all announcements use the same word
 *   7  who leaves does not pass the turn on
 *   8  or does not wake who gets it
 *   9  a thread looks whether it is its turn, and goes to sleep later
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef SCENE
#define SCENE 1
#endif
#ifndef LOOKS
#define LOOKS 1
#endif

#define WAITERS  2
#define THREADS  3
#define NOBODY   9
#define MESSAGES (SCENE == 2 -> 1 : 2)

byte published; /* messages, by the sender's own view */
byte visible;   /* to us */
byte taken;
bool consuming;
bool missed[WAITERS]; /* something, since it looked there last */

bool complete[WAITERS];                /* visible to all */
bool buffered[6];                      /* by thread and waiter: not yet */
#define BUFFERED(t, w) buffered[(t) * 2 + (w)]
#define DONE(w)        (complete[w] || BUFFERED(w, w))

bool word;           /* in the segment: somebody sleeps */
bool valid[WAITERS]; /* it has not changed since this one has announced that */
bool sleeping[WAITERS]; /* the kernel's list */

byte turn = NOBODY;
bool here[WAITERS];
bool napping[WAITERS]; /* may sleep in the segment */
bool dozing[WAITERS];  /* sleeps otherwise */

inline flush(t) {
    d_step {
        if
        :: BUFFERED(t, 0) -> complete[0] = true; BUFFERED(t, 0) = false
        :: else
        fi;
        if
        :: BUFFERED(t, 1) -> complete[1] = true; BUFFERED(t, 1) = false
        :: else
        fi
    }
}

inline membarrier() {
    d_step {
        visible = published;
        if
        :: BUFFERED(0, 0) || BUFFERED(1, 0) || BUFFERED(2, 0) -> complete[0] = true
        :: else
        fi;
        if
        :: BUFFERED(0, 1) || BUFFERED(1, 1) || BUFFERED(2, 1) -> complete[1] = true
        :: else
        fi;
        BUFFERED(0, 0) = false; BUFFERED(1, 0) = false; BUFFERED(2, 0) = false;
        BUFFERED(0, 1) = false; BUFFERED(1, 1) = false; BUFFERED(2, 1) = false
    }
}

/* E2, E3 */
inline wake_if_asleep() {
    found = word;
    if
    :: found ->
        atomic {
            found = word;
            word = false;
            valid[0] = false;
            valid[1] = false
        };
        if
        :: found ->
            if
            :: BROKEN == 3 ->
                d_step {
                    if
                    :: sleeping[0] -> sleeping[0] = false
                    :: else -> sleeping[1] = false
                    fi
                }
            :: else -> d_step { sleeping[0] = false; sleeping[1] = false }
            fi
        :: else
        fi
    :: else
    fi;
    found = false
}

/* A request is complete: its thread is woken if it dozes, or sleeps in the segment. */
inline end_request(t, w) {
    BUFFERED(t, w) = true;
    if
    :: BROKEN != 2 -> wake_if_asleep()
    :: else
    fi;
    atomic {
        flush(t);
        dozing[w] = false
    }
}

/* Message m is waiter m's. Looks at what has come, which may be too early, and takes it. */
inline look(t) {
    if
    :: atomic { consuming -> missed[0] = true; missed[1] = true }
    :: atomic { !consuming && visible > taken -> consuming = true }
        end_request(t, taken);
        d_step { taken++; moved = true; consuming = false }
    :: atomic { !consuming && visible == taken -> consuming = true }
        consuming = false
    fi
}

proctype sender() {
    byte n;
    bool found;

    do
    :: n < MESSAGES ->
        published++;
        n++;
        wake_if_asleep()
    :: else -> break
    od
}

inline flush_one() {
    if
    :: atomic { BUFFERED(0, 0) || BUFFERED(0, 1) -> flush(0) }
    :: atomic { BUFFERED(1, 0) || BUFFERED(1, 1) -> flush(1) }
    :: atomic { BUFFERED(2, 0) || BUFFERED(2, 1) -> flush(2) }
    fi
}

/* Stores become visible at any time. */
proctype buffers() {
    do
    :: atomic { visible < published -> visible++ }
    :: flush_one()
    :: atomic { visible == MESSAGES && complete[0] && complete[1] -> break }
    od
}

/* Progresses sometimes. */
proctype third() {
    byte n;
    bool found, moved;

    do
    :: n < LOOKS -> look(2); n++
    :: else -> break
    od;
    if
    :: SCENE == 2 -> end_request(2, 1)
    :: else
    fi
}

#define HAS_TURN(me) (turn == me || (SCENE == 3 && me == 1))

proctype waiter(byte me) {
    bool announced, found, moved;

    /* enter() */
    if
    :: SCENE == 3 && me == 1
    :: else ->
        d_step {
            here[me] = true;
            if
            :: turn == NOBODY -> turn = me
            :: turn != NOBODY && napping[1 - me] -> turn = me
            :: else
            fi
        }
    fi;
    do
    :: DONE(me) -> break
    :: else ->
        if
        :: HAS_TURN(me) ->
            look(me);
            napping[me] = true;
            if
            :: moved -> d_step { moved = false; announced = false }
            :: else ->
                if
                :: !announced ->
                    d_step {
                        found = word;
                        word = true;
                        valid[me] = true;
                        announced = true
                    };
                    if
                    :: BROKEN == 1 || (BROKEN == 5 && found)
                    :: else -> membarrier()
                    fi;
                    d_step { found = false; missed[me] = false }
                :: announced && missed[me] && BROKEN != 4 -> missed[me] = false
                :: else ->
                    atomic { /* the kernel's comparison */
                        if
                        :: word && (valid[me] || BROKEN == 6) -> sleeping[me] = true
                        :: else
                        fi
                    };
                    !sleeping[me];
                    announced = word && (valid[me] || BROKEN == 6)
                fi
            fi;
            napping[me] = false
        :: else -> /* doze() */
            if
            :: BROKEN == 9 ->
                if
                :: turn != me -> dozing[me] = true
                :: else
                fi
            :: else ->
                atomic { /* under sync.lock */
                    if
                    :: turn != me && !DONE(me) -> dozing[me] = true
                    :: else
                    fi
                }
            fi;
            !dozing[me]
        fi
    od;
    /* leave() */
    if
    :: SCENE == 3
    :: else ->
        atomic {
            here[me] = false;
            found = (turn == me && here[1 - me]);
            if
            :: turn == me && BROKEN != 7 -> turn = (here[1 - me] -> 1 - me : NOBODY)
            :: else
            fi
        };
        if
        :: found && BROKEN != 8 -> dozing[1 - me] = false
        :: else
        fi
    fi
}

init {
    atomic {
        run sender();
        run buffers();
        run third();
        run waiter(0);
        run waiter(1)
    }
}
