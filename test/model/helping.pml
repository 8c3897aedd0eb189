/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The second mailbox, in which origins leave pieces of long puts and gets (osc_fastpath_long.c): two origins and TARGETS
 * threads of the target.  It differs from mailbox.pml in this: the lock, member.helping, is only tried, and who does not get
 * it copies all by itself; the target answers with nothing but the state; a copy may be made twice, so a target that refuses
 * may have copied a part; and origins have no order among each other.  An origin takes back what nobody has begun with when
 * nothing else is left, at any moment here.  With DIES, the target ends at any moment.
 *
 * Each origin copies to a place of its own: in the target's memory for a put, in the origin's for a get.  Checked in every
 * interleaving: when an operation has returned, its place has what was copied; the target copies only within the operation,
 * and what belongs to it; nobody waits for ever, unless the target has died with the piece.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  a piece is taken back by a store
 *   2  it is taken by a look and a store
 *   3  origins do without the lock
 *   4  an origin that cannot take its piece back copies it and returns all the same
 *   5  the target answers before it has copied
 *   6  the target reads the contents before it takes them
 *   7  a refusal is taken for an answer
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
#define PART 99

mtype = {IDLE, POSTED, TAKEN, DONE, REFUSED}
mtype state = IDLE;
byte place, value;    /* contents of the mailbox */
byte memory[2];
byte copying[2];      /* what the operation at a place copies now, 0: there is none */
bool helping;         /* the lock */
byte origins = 2;     /* that are not done */
byte alive = TARGETS; /* threads of the target */
bool dead;            /* so they end at their next step */

proctype origin(byte mine) {
    byte round;
    bool own, asks, failed;

    for (round : 1 .. ROUNDS) {
        atomic {
            copying[mine] = round;
            asks = (!helping || BROKEN == 3);
            if
            :: asks -> helping = true
            :: else -> own = true
            fi
        }
        if
        :: asks ->
            place = mine;
            value = round;
            state = POSTED;
            do
            :: state == DONE -> break
            :: state == REFUSED -> own = (BROKEN != 7); break
            :: state == POSTED || BROKEN == 1 -> /* nothing else is left */
                if
                :: BROKEN == 1 -> state = IDLE; own = true
                :: d_step { BROKEN != 1 && state == POSTED -> state = IDLE; own = true }
                :: BROKEN != 1 && state != POSTED -> own = (BROKEN == 4)
                fi;
                if
                :: own -> break
                :: else
                fi
            :: alive == 0 && state == TAKEN -> failed = true; break /* MPI_ERR_PROC_FAILED */
            od
        :: else
        fi;
        if
        :: own -> memory[mine] = round
        :: else
        fi;
        atomic {
            assert(failed || memory[mine] == round);
            copying[mine] = 0
        }
        if
        :: asks -> helping = false
        :: else
        fi;
        own = false;
        failed = false
    }
    origins--
}

/* Only what is being copied, as long as it is. */
inline copy(what) {
    d_step {
        assert(copying[at] == piece);
        memory[at] = what
    }
}

proctype target() {
    byte at, piece;

end:
    do
    :: state == POSTED ->
        if
        :: BROKEN == 6 -> at = place; piece = value
        :: else
        fi;
        if
        :: BROKEN == 2 -> state = TAKEN
        :: d_step { BROKEN != 2 && state == POSTED -> state = TAKEN }
        :: BROKEN != 2 && state != POSTED -> goto end
        fi;
        if
        :: BROKEN != 6 -> at = place; piece = value
        :: else
        fi;
        if
        :: BROKEN == 5 -> state = DONE
        :: else
        fi;
        if
        :: dead -> break
        :: !dead -> copy(PART);
            if
            :: dead -> break
            :: !dead && BROKEN != 5 -> state = REFUSED
            :: !dead -> copy(piece);
                if
                :: dead -> break
                :: !dead && BROKEN != 5 -> state = DONE
                :: else
                fi
            fi
        :: !dead && BROKEN != 5 -> state = REFUSED
        fi
    :: dead -> break
    od;
    alive--
}

init {
    byte i;

    atomic {
        run origin(0);
        run origin(1);
        for (i : 1 .. TARGETS) {
            run target()
        }
    }
    if
    :: DIES -> dead = true
    :: true
    fi;
    (origins == 0)
}
