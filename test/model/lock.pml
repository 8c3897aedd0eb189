/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The target locks of one-sided communication (osc_fastpath_member.h, osc_fastpath_lock.c): words of two targets that
 * processes of a node share or have exclusively.  Who is refused waits until it may try again.
 *
 * SCENE 1: readers of both targets, who take them in opposite order, one after the other and more than once, and a writer
 * of each target.  SCENE 2: who takes all locks of the node (MPI_Win_lock_all), a writer that takes both, one of target 0.
 *
 * Checked in every interleaving: nobody has a lock that another one has exclusively; nobody waits for ever; and of those
 * who hold nothing yet, each gets past a waiting writer once at most, when it has looked before.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  readers do not wait behind waiting writers
 *   2  readers wait behind them, too, when they have another lock
 *   3  a writer that has got in still counts as waiting
 *   4  a writer takes the lock as soon as no writer has it
 *   5  who takes all locks keeps some while it waits for another
 *   6  a reader that leaves stores that nobody has the lock
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef SCENE
#define SCENE 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define EXCLUSIVE 100

byte holders[2];
byte writers[2];
byte inside[2];    /* readers that have the lock */
byte writing[2];   /* writers that have it */
byte overtaken[2]; /* readers without a lock that got in while a writer waited */

#define LOOK(w, pass) ((pass) || BROKEN == 1 || writers[w] == 0)

/* Two steps: a look at the waiting writers, then a compare and swap of the holders. */
inline share(w, pass) {
    do
    :: LOOK(w, pass) ->
        if
        :: d_step { holders[w] < EXCLUSIVE ->
            holders[w]++;
            inside[w]++;
            if
            :: !(pass) && writers[w] > 0 -> overtaken[w]++
            :: else
            fi };
            assert(writing[w] == 0);
            assert(overtaken[w] <= 1 || BROKEN == 2); /* one reader comes here without another lock */
            break
        :: holders[w] >= EXCLUSIVE -> (holders[w] < EXCLUSIVE)
        fi
    od
}

inline unshare(w) {
    d_step {
        inside[w]--;
        if
        :: BROKEN == 6 -> holders[w] = 0
        :: else -> holders[w]--
        fi
    }
}

inline seize(w) {
    waits = false;
    do
    :: d_step { holders[w] == 0 || (BROKEN == 4 && holders[w] < EXCLUSIVE) ->
        holders[w] = EXCLUSIVE;
        writing[w]++ };
        break
    :: holders[w] != 0 && !waits -> writers[w]++; waits = true
    :: holders[w] != 0 && waits -> (holders[w] == 0 || BROKEN == 4)
    od;
    if
    :: waits && BROKEN != 3 -> d_step { writers[w]--; overtaken[w] = 0 }
    :: else
    fi;
    assert(inside[w] == 0 && writing[w] == 1)
}

inline unseize(w) {
    d_step { writing[w]--; holders[w] = 0 }
}

proctype reader(byte first) {
    byte second = 1 - first;
    byte round;

    for (round : 1 .. ROUNDS) {
        share(first, false);
        share(second, BROKEN != 2);
        unshare(first);
        unshare(second)
    }
}

proctype writer(byte w; byte times) {
    bool waits;
    byte round;

    for (round : 1 .. times) {
        seize(w);
        unseize(w)
    }
}

proctype both() {
    bool waits;

    seize(1);
    seize(0);
    unseize(0);
    unseize(1)
}

/* All or nothing. */
proctype all() {
    byte has = 0;
    byte wanted;

    do
    :: has == 2 -> break
    :: has < 2 ->
        if
        :: d_step { LOOK(has, false) && holders[has] < EXCLUSIVE -> holders[has]++; inside[has]++; has++ }
        :: !LOOK(has, false) || holders[has] >= EXCLUSIVE ->
            wanted = has;
            do
            :: has > 0 && BROKEN != 5 -> has--; unshare(has)
            :: else -> break
            od;
            (LOOK(wanted, false) && holders[wanted] < EXCLUSIVE)
        fi
    od;
    assert(writing[0] == 0 && writing[1] == 0);
    unshare(0);
    unshare(1)
}

init {
    atomic {
        if
        :: SCENE == 1 ->
            run reader(0);
            run reader(1);
            run writer(0, ROUNDS);
            run writer(1, 1)
        :: else ->
            run all();
            run both();
            run writer(0, 1)
        fi
    }
}
