/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Whether two processes reach each other (btl_fastsm_pair.h): a host and a guest.  Each may be able to map the other's
 * segment or not; it may be killed at any moment, and wait no longer at any moment, or only when the other is gone.  What
 * a process reads in the other's segment may be old.  That delays it, with one exception: a guest may find an offer that
 * has been withdrawn.
 *
 * Checked in every interleaving: both come to the same conclusion, unless one of them is killed; they agree only where both
 * have mapped; and nobody waits for ever, so the conclusion of one process is always found by the other.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  the host withdraws its offer by a store
 *   2  the guest agrees by a store
 *   3  a guest that waits no longer does not say so
 *   4  a process that cannot map the other one does not say so
 *   5  the host takes its own offer for the agreement
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#define HOST    0
#define GUEST   1
#define OFFERED 1
#define AGREED  2
#define REFUSED 3

byte word[2];   /* in the segments of host and guest */
bool old_offer; /* the guest may still see an offer that is none any more */
byte result[2]; /* 0: none yet */
bool mapped[2];
bool killed[2];

#define DECIDE(state) \
    d_step { \
        if \
        :: word[HOST] == OFFERED -> word[HOST] = state; result[me] = state \
        :: else \
        fi \
    }

proctype process(byte me; bool patient; bool may_die) {
    byte other = 1 - me;

    if
    :: !mapped[me] && BROKEN != 4 -> word[me] = REFUSED; result[me] = REFUSED
    :: !mapped[me] && BROKEN == 4 -> result[me] = REFUSED
    :: mapped[me] && me == HOST -> word[HOST] = OFFERED; old_offer = true
    :: else
    fi;
    do
    :: result[me] != 0 -> break
    :: result[me] == 0 && may_die -> killed[me] = true; goto done
    :: result[me] == 0 && word[other] == REFUSED -> word[me] = REFUSED; result[me] = REFUSED
    :: result[me] == 0 && me == HOST && (word[HOST] == AGREED || BROKEN == 5) -> result[HOST] = AGREED
    :: result[me] == 0 && me == GUEST && (word[HOST] == OFFERED || old_offer) ->
        if
        :: BROKEN == 2 -> word[HOST] = AGREED; result[GUEST] = AGREED
        :: else -> DECIDE(AGREED)
        fi;
        old_offer = false /* who has changed a word, or tried to, has seen it */
    :: result[me] == 0 && (!patient || killed[other]) -> /* wait no longer */
        if
        :: me == GUEST && BROKEN != 3 -> word[GUEST] = REFUSED; result[GUEST] = REFUSED
        :: me == GUEST && BROKEN == 3 -> result[GUEST] = REFUSED
        :: me == HOST && BROKEN == 1 -> word[HOST] = REFUSED; result[HOST] = REFUSED
        :: me == HOST && BROKEN != 1 ->
            DECIDE(REFUSED);
            if
            :: result[HOST] == 0 -> result[HOST] = AGREED
            :: else
            fi
        fi
    od;
    (result[other] != 0 || killed[other]);
    assert(killed[other] || result[me] == result[other]);
    assert(result[me] != AGREED || mapped[me]);
    assert(result[me] != AGREED || mapped[other] || killed[other])
done:
}

init {
    bool patient[2];
    bool may_die[2];

    if :: mapped[HOST] = true :: skip fi;
    if :: mapped[GUEST] = true :: skip fi;
    if :: patient[HOST] = true :: skip fi;
    if :: patient[GUEST] = true :: skip fi;
    if :: may_die[HOST] = true :: skip fi;
    if :: may_die[GUEST] = true :: skip fi;
    atomic {
        run process(HOST, patient[HOST], may_die[HOST]);
        run process(GUEST, patient[GUEST], may_die[GUEST])
    }
}
