/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * A receiver that sleeps until somebody sends it something (btl_fastsm_sleep.h, fastsm_wake_if_asleep): it announces that
 * it does, issues a membarrier, looks once more, and sleeps; a sender publishes and then reads whether the receiver is asleep,
 * without a fence. What a sender has published is visible to others at any time later, or with the next membarrier.
 * Senders may be killed between two messages; what they had published becomes visible nevertheless. Sleeps have no other end
 * here than a wake-up. The real ones end after some ms; so one does that a sender should have ended which was killed between
 * publishing and waking.
 *
 * Checked in every interleaving: as long as something is visible that it has not taken, or will be, the receiver does not
 * sleep for ever (no invalid end state), and it takes everything.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  no membarrier
 *   2  the receiver does not look between the announcement and the sleep
 *   3  a sender is not enlisted
 *   4  the sender reads the word before it publishes
 *   5  the sender wakes without making the word 0
 *   6  the receiver sleeps without a comparison of the word
 *   7  the receiver looks before the membarrier, not after it
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif

#define ENLISTED(s) (BROKEN != 3 || s != 0)

byte published[SENDERS]; /* by the sender's own view */
byte visible[SENDERS];   /* to the receiver */
byte taken[SENDERS];
bool dead[SENDERS];
bool asleep;   /* the word */
bool sleeping; /* the kernel has the receiver in its list */

/* All stores of those who are enlisted are visible. */
inline membarrier() {
    d_step {
        i = 0;
        do
        :: i < SENDERS ->
            if
            :: ENLISTED(i) -> visible[i] = published[i]
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

proctype sender(byte s) {
    byte n;
    bool found;

    do
    :: n < MESSAGES ->
        if
        :: BROKEN == 4 -> found = asleep
        :: else
        fi;
        published[s]++;
        n++;
        if
        :: BROKEN != 4 -> found = asleep
        :: else
        fi;
        if
        :: found ->
            atomic { /* exchange */
                found = asleep;
                asleep = (BROKEN == 5 -> asleep : false)
            };
            if
            :: found -> sleeping = false /* wake-up */
            :: else
            fi
        :: else
        fi
    :: n < MESSAGES -> break /* killed */
    :: else -> break
    od;
    dead[s] = true
}

/* Stores become visible in order, at any time. */
proctype buffer(byte s) {
    do
    :: atomic { visible[s] < published[s] -> visible[s]++ }
    :: atomic { dead[s] && visible[s] == published[s] -> break }
    od
}

inline look() {
    found = false;
    i = 0;
    do
    :: i < SENDERS ->
        if
        :: atomic { taken[i] < visible[i] -> taken[i] = visible[i]; found = true }
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

#define ALL (dead[0] && taken[0] == published[0] && dead[1] && taken[1] == published[1] && dead[SENDERS - 1] && taken[SENDERS - 1] == published[SENDERS - 1])

proctype receiver() {
    byte i;
    bool found, announced;

    do
    :: ALL -> break
    :: else ->
        look();
        if
        :: found -> announced = false
        :: else ->
            if
            :: !announced ->
                if
                :: !asleep ->
                    asleep = true;
                    if
                    :: BROKEN == 7 -> look()
                    :: else
                    fi;
                    if
                    :: BROKEN != 1 -> membarrier()
                    :: else
                    fi
                :: else
                fi;
                announced = true;
                if
                :: BROKEN == 2 || BROKEN == 7 -> goto sleep
                :: else
                fi
            :: else ->
sleep:
                atomic { /* the kernel's comparison */
                    if
                    :: asleep || BROKEN == 6 -> sleeping = true
                    :: else
                    fi
                };
                /* ends when it is woken; or when there is nothing left to come, which only this model knows */
                (!sleeping || ALL);
                sleeping = false;
                announced = asleep
            fi
        fi
    od
}

init {
    atomic {
        byte s;

        for (s : 0 .. SENDERS - 1) {
            run sender(s);
            run buffer(s)
        }
        run receiver()
    }
}
