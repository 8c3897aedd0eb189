/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The barrier of those who share memory (osc_fastpath_node.c): in round R each member stores the number of the barrier for
 * the member 2^R after it, and waits for that of the member 2^R before it, or a higher one.
 *
 * Checked in every interleaving: nobody leaves before all have come, and nobody waits for ever, in several barriers one
 * after the other.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  a member waits for this very number (two members)
 *   2  the last round
 *   3  a word for each round
 *   4  a member waits for the one after it
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef BARRIERS
#define BARRIERS 3
#endif
#define ROUNDS 3

byte arrived[MEMBERS * ROUNDS]; /* by member and round */
byte come[MEMBERS];

#define WORD(member, round) arrived[(member) * ROUNDS + (BROKEN == 3 -> 0 : (round))]

proctype member(byte me) {
    byte number, round, distance, other;

    for (number : 1 .. BARRIERS) {
        come[me] = number;
        round = 0;
        distance = 1;
        do
        :: distance >= MEMBERS || (BROKEN == 2 && 2 * distance >= MEMBERS) -> break
        :: else ->
            other = (me + distance) % MEMBERS;
            WORD(other, round) = number;
            if
            :: BROKEN == 1 -> (WORD(me, round) == number)
            :: BROKEN == 4 -> (WORD(other, round) >= number)
            :: else -> (WORD(me, round) >= number)
            fi;
            round++;
            distance = 2 * distance
        od;
        atomic {
            for (other : 0 .. MEMBERS - 1) {
                assert(come[other] >= number)
            }
        }
    }
}

init {
    byte i;

    atomic {
        for (i : 0 .. MEMBERS - 1) {
            run member(i)
        }
    }
}
