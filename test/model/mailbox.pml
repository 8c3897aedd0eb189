/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The mailbox in which origins leave updates of a target's memory (osc_fastpath_mailbox.h, osc_fastpath_mail.c): two origins,
 * one after the other by the accumulate lock, and TARGETS threads of the target, which look at the mailbox now and then.  An
 * origin looks for an answer as often as it likes, takes the update back and makes it itself.  A target may refuse.  With
 * DIES, the target ends at any moment: an update that it has taken then gets no answer.
 *
 * Each update is a load and a store of one number, by whoever makes it.  Checked in every interleaving: each update is
 * made once, by one that knows its contents, on the number that the one before it has left; the origin gets what was there;
 * nobody waits for ever, unless the target has died with the update.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  an update is taken back by a store
 *   2  it is taken by a look and a store
 *   3  origins do without the accumulate lock
 *   4  an origin that cannot take its update back makes it all the same
 *   5  the target answers before it has made the update
 *   6  the target reads the contents before it takes them
 *   7  a refusal is taken for an answer
 *   8  an origin that could take its update back waits for the answer
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef TARGETS
#define TARGETS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef DIES
#define DIES 0
#endif
#define NOBODY 9

mtype = {IDLE, POSTED, TAKEN, DONE, REFUSED}
mtype state = IDLE;
byte data;            /* contents of the mailbox: what to add, then what was there */
byte number;          /* the memory */
byte sum;             /* of all updates that have returned */
byte busy;            /* who is between load and store */
bool locked;
byte origins = 2;     /* that are not done */
byte alive = TARGETS; /* threads of the target */
bool dead;            /* so they end at their next step */

/* Load and store, between which nobody else comes. */
inline update(add) {
    d_step { assert(busy == 0); busy++; old = number };
    d_step { number = old + add; busy-- }
}

proctype origin(byte mine) {
    byte old, round, start;
    bool own, failed;

    for (round : 1 .. ROUNDS) {
        atomic { (!locked || BROKEN == 3) -> locked = true; start = number };
        data = mine;
        state = POSTED;
        own = false;
        do
        :: state == DONE -> break
        :: state == REFUSED -> own = (BROKEN != 7); break
        :: state == POSTED || BROKEN == 1 -> /* tired of it */
            if
            :: BROKEN == 1 -> state = IDLE; own = true
            :: d_step { BROKEN != 1 && state == POSTED -> state = IDLE; own = true }
            :: BROKEN != 1 && state != POSTED -> own = (BROKEN == 4)
            fi;
            if
            :: own && BROKEN != 8 -> break
            :: else
            fi
        :: alive == 0 && state == TAKEN -> break
        od;
        if
        :: !own && state == TAKEN -> failed = true /* MPI_ERR_PROC_FAILED */
        :: own -> update(mine)
        :: !own && state != TAKEN -> old = data
        fi;
        assert(failed || old == start);
        assert(failed || number == start + mine);
        sum = sum + mine;
        failed = false;
        locked = false
    }
    origins--
}

proctype target() {
    byte old, add;

end:
    do
    :: state == POSTED ->
        add = data;
        if
        :: BROKEN == 2 -> state = TAKEN
        :: d_step { BROKEN != 2 && state == POSTED -> state = TAKEN }
        :: BROKEN != 2 && state != POSTED -> goto end
        fi;
        if
        :: BROKEN != 6 -> add = data
        :: else
        fi;
        if
        :: dead -> break
        :: !dead && BROKEN == 5 ->
            state = DONE;
            update(add);
            data = old
        :: !dead && BROKEN != 5 ->
            update(add);
            data = old;
            if
            :: dead -> break
            :: state = DONE
            fi
        :: !dead -> state = REFUSED
        fi
    :: dead -> break
    od;
    alive--
}

init {
    byte i;

    atomic {
        run origin(1);
        run origin(3);
        for (i : 1 .. TARGETS) {
            run target()
        }
    }
    if
    :: DIES -> dead = true
    :: true
    fi;
    (origins == 0);
    assert(dead || number == sum)
}
