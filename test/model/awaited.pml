/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * A large message of a nonblocking send, which the receiver reads in pieces (pml_fastpath_help.c) while the sender may come
 * to wait for it (pml_fastpath_awaited.c): the sender says so by a name in its segment, the receiver looks between two
 * pieces, and asks by HELP for half of what is left, or, in an exchange, for all of that.  MESSAGES are offered one after
 * the other and then waited for, WINDOW at a time; before it waits the sender may be away for any time.  HELP and the answer
 * may overtake each other.  There is one name at a time here, six there.
 *
 * Checked in every interleaving: each piece of each message is copied once, before its send and its receive complete, and
 * not after that; HELP comes only to a send that is waited for, once; nobody waits for ever, also if the sender is away
 * until the receiver has all that was offered.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  the answer does not say that there is a HELP
 *   2  the receiver reads what it has asked for, too
 *   3  a receive is complete when its own part is read
 *   4  names are used again, and stay when what they named is complete
 *   5  the receiver asks again
 *   6  it asks without looking for the name
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef MESSAGES
#define MESSAGES 4
#endif
#define PIECES 4
#define NAME(m) ((BROKEN == 4 -> (m) % WINDOW : (m)) + 1)

byte awaited;                   /* the name in the segment, 0: none */
byte copied[MESSAGES * PIECES]; /* how often */
bool waits[MESSAGES], helped[MESSAGES], announced[MESSAGES], answered[MESSAGES];
bool received[MESSAGES], sent[MESSAGES];

chan offer = [WINDOW] of { byte };
chan help = [MESSAGES] of { byte, byte };  /* message, first piece */
chan answer = [MESSAGES] of { byte, bool };
chan done = [MESSAGES] of { byte };

inline copy(m, piece) {
    d_step {
        assert(!sent[m] && !received[m]);
        copied[(m) * PIECES + (piece)]++;
        assert(copied[(m) * PIECES + (piece)] == 1)
    }
}

/* Both see all of it. */
inline check(m) {
    assert(copied[(m) * PIECES] == 1 && copied[(m) * PIECES + 1] == 1 && copied[(m) * PIECES + 2] == 1
           && copied[(m) * PIECES + 3] == 1)
}

proctype sender() {
    byte m, at, first, i;
    bool flag;

    do
    :: m < MESSAGES ->
        for (i : m .. m + WINDOW - 1) {
            offer ! i
        }
        if
        :: received[m + WINDOW - 1] /* away */
        :: skip
        fi;
        for (i : m .. m + WINDOW - 1) {
            do
            :: sent[i] -> break
            :: else ->
                if
                :: !waits[i] && !answered[i] -> waits[i] = true; awaited = NAME(i)
                :: else
                fi;
                if
                :: help ? at, first ->
                    assert(waits[at] && !helped[at] && (!answered[at] || announced[at]));
                    for (first : first .. PIECES - 1) {
                        copy(at, first)
                    }
                    helped[at] = true;
                    done ! at
                :: answer ? at, flag -> answered[at] = true; announced[at] = flag
                fi;
                if
                :: answered[at] && (helped[at] || !announced[at]) -> check(at); sent[at] = true
                :: else
                fi
            od
        }
        if
        :: BROKEN != 4 -> awaited = 0
        :: else
        fi;
        m = m + WINDOW
    :: else -> break
    od
}

proctype receiver() {
    byte m, at, from, own, next;
    bool asked;

    do
    :: m < MESSAGES ->
        offer ? m;
        own = PIECES;
        next = 0;
        asked = false;
        do
        :: next < own ->
            if
            :: (!asked || BROKEN == 5) && (awaited == NAME(m) || BROKEN == 6) && next < PIECES - 1 ->
                if
                :: from = next + (PIECES - next) / 2
                :: from = next /* an exchange */
                fi;
                own = (BROKEN == 2 -> PIECES : from);
                help ! m, from;
                asked = true
            :: else
            fi;
            if
            :: next < own ->
                copy(m, next);
                next++
            :: else
            fi
        :: else -> break
        od;
        answer ! m, (asked && BROKEN != 1);
        if
        :: asked && BROKEN != 3 -> done ? at; assert(at == m)
        :: else
        fi;
        check(m);
        received[m] = true;
        m++
    :: else -> break
    od
}

init {
    atomic {
        run sender();
        run receiver()
    }
}
