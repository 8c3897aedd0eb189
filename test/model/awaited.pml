/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * A large message of a nonblocking send, which the receiver reads in pieces (pml_fastpath_help.c) while the sender may be in
 * a call that waits (pml_fastpath_awaited.c): the sender says so by a name in its segment, the receiver claims that between
 * two pieces, and asks by HELP for half of what is left, or, in an exchange, for all of that.  MESSAGES are offered one
 * after the other, WINDOW at a time.  Then the sender is away, or in calls that wait for something else, which may end at any
 * time, and in the end in one that waits for the messages.  A call that ends takes the name back; if that has been claimed
 * it does not return before the message is sent, and afterwards the sender may be away until the receiver has all that was
 * offered.  HELP and the answer may overtake each other.  There is one name at a time here, six there.
 *
 * Checked in every interleaving: each piece of each message is copied once, before its send and its receive complete, and
 * not after that; HELP comes only to a send whose name is said or has been claimed, once; nobody waits for ever, whenever
 * the sender is away.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  the answer does not say that there is a HELP
 *   2  the receiver reads what it has asked for, too
 *   3  a receive is complete when its own part is read
 *   4  names are used again, and stay when what they named is complete
 *   5  the receiver asks again
 *   6  it asks without claiming the name
 *   7  a call that ends does not look whether its name has been claimed
 *   8  the receiver looks for the name, and asks, without claiming it
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

#define CLAIMED 255

byte awaited;                   /* the name in the segment, CLAIMED, or 0: none */
byte copied[MESSAGES * PIECES]; /* how often */
bool named[MESSAGES], helped[MESSAGES], announced[MESSAGES], answered[MESSAGES];
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

/* What has come for the sender, which is in MPI. */
inline progress() {
    if
    :: help ? at, first ->
        assert(named[at] && !helped[at] && (!answered[at] || announced[at]));
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
}

/* One message is named, unless another one is. */
inline say(message) {
    if
    :: said == 0 && !answered[message] && !named[message] ->
        named[message] = true;
        said = message + 1;
        awaited = NAME(message)
    :: else
    fi
}

/* Its name is said no more: one that has been claimed stays named. */
inline take_back() {
    if
    :: said != 0 ->
        if
        :: BROKEN == 4
        :: BROKEN != 4 ->
            d_step {
                was = awaited;
                awaited = 0
            }
            if
            :: was != CLAIMED -> named[said - 1] = false
            :: was == CLAIMED && BROKEN != 7 -> claimed[said - 1] = true
            :: else
            fi
        fi;
        said = 0
    :: else
    fi
}

/* Its name makes room for another one when it is answered. */
inline next_name() {
    if
    :: said != 0 && answered[said - 1] -> take_back()
    :: else
    fi
}

proctype sender() {
    byte m, at, first, i, said, was;
    bool flag, claimed[MESSAGES];

    do
    :: m < MESSAGES ->
        for (i : m .. m + WINDOW - 1) {
            offer ! i
        }
        do /* calls that wait for something else, and between them it is away */
        :: true -> received[m + WINDOW - 1]; break /* away, until then */
        :: break
        :: said == 0 && !sent[m + WINDOW - 1] ->
            for (i : m .. m + WINDOW - 1) {
                say(i)
            }
            do
            :: nempty(help) || nempty(answer) ->
                progress();
                next_name();
                for (i : m .. m + WINDOW - 1) {
                    say(i)
                }
            :: break
            od;
            take_back();
            for (i : m .. m + WINDOW - 1) {
                do
                :: claimed[i] && !sent[i] -> progress()
                :: else -> break
                od
            }
            if
            :: true -> received[m + WINDOW - 1]; break
            :: break
            fi
        od;
        for (i : m .. m + WINDOW - 1) {
            do
            :: sent[i] -> break
            :: else ->
                say(i);
                progress();
                next_name()
            od
        }
        take_back();
        m = m + WINDOW
    :: else -> break
    od
}

proctype receiver() {
    byte m, at, from, own, next;
    bool asked, found;

    do
    :: m < MESSAGES ->
        offer ? m;
        own = PIECES;
        next = 0;
        asked = false;
        do
        :: next < own ->
            atomic { /* one compare-and-swap */
                found = awaited == NAME(m);
                if
                :: found && BROKEN != 8 -> awaited = CLAIMED
                :: else
                fi
            }
            if
            :: (!asked || BROKEN == 5) && (found || BROKEN == 6 || (BROKEN == 5 && asked)) && next < PIECES - 1 ->
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
