/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The FIFO of btl_fastsm_fifo.h with its doorbell: one sender, one receiver, HALVES / 2 slots; messages of half a slot,
 * one or two slots; second halves that are skipped, without a trace or with a pad, and pads before the end; positions
 * modulo MODULUS, bells modulo BELLS.
 *
 * The bell is a relaxed store: it becomes visible at any time after it was made, in order with other bells and
 * in no order with the slots.  So it goes through a queue of its own from the sender to what the receiver
 * sees.  The receiver looks at the bell only (poll_bells).  Checked in every interleaving: it reads what was
 * sent, in order and all of it; nothing is overwritten before it is read; and no message is lost
 * because the bell says that there is none.
 *
 * What a user sends lies where the words of second halves are, and may look like one: it is chosen to look like the one
 * that is awaited there, in this lap or in the next.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  the receiver clears the bell, with a plain store, when it has read all there is
 *   2  the word of the head is stored before the data
 *   3  slots that are passed over and further ones get no word
 *   4  the sender does not look for room
 *   5  as many halves may be full as a bell tells apart
 *   6  the bell does not ring for a pad, behind which the message may have to wait for room
 *   7  whoever fills a first half leaves the word of the second half as it is
 *   8  whoever fills a first half has room for no more than that
 *   9  the receiver that sees a slot behind a second half does not look at the second half again
 *   10 a message for which there is no room does not pad the second half that lies before it
 */

#ifndef MESSAGES
#define MESSAGES 5
#endif
#ifndef HALVES
#define HALVES 4
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
/* as many positions as bells, so that 5 is found: the deepest FIFO there is.  A longer one has more bells. */
#ifndef BELLS
#define BELLS (2 * HALVES)
#endif
#define MODULUS (2 * HALVES)
#define LIMIT ((BELLS > HALVES || BROKEN == 5) -> HALVES : HALVES - 1)

#ifndef START
#define START (MODULUS - 3)
#endif
#define PAD 99

byte word[HALVES];
byte data[HALVES]; /* number of the message in its first half, or PAD */
byte length[HALVES]; /* halves of the message or pad */
byte bell; /* what the receiver sees */
byte cleared; /* BROKEN 1: the value that the bell has been cleared to stand for */
byte read_pos = START;
byte seen = 0; /* ghost: messages received */
chan bells = [3] of { byte }; /* stores of the bell that are not visible yet */

inline put_word(p) { word[(p) % HALVES] = ((p) + 1) % MODULUS }

/* Halves from the receiver's position to the end of the slot in which `need` more end. */
#define filled(need) ((w + (need) + ((w + (need)) % 2 * (BROKEN != 8 -> 1 : 0)) - read_pos + MODULUS) % MODULUS)
#define fits(need) (BROKEN == 4 || ((need) <= LIMIT && filled(need) <= LIMIT && filled(need) > 0))

inline pad(count)
{
    i = 2;
    do
    :: i < count ->
        if :: BROKEN != 3 -> put_word(w + i) :: else fi;
        i = i + 2
    :: else -> break
    od;
    data[w % HALVES] = PAD;
    length[w % HALVES] = count;
    put_word(w);
    w = (w + count) % MODULUS;
    if :: BROKEN != 6 -> bells ! w % BELLS :: else fi
}

/* A whole slot's second half: what looks most like a message there. */
inline user_data(p)
{
    if
    :: put_word(p)
    :: word[(p) % HALVES] = ((p) + HALVES + 1) % MODULUS
    fi
}

proctype sender()
{
    byte w = START, n = 0, halves, over, rest, i;

    do
    :: n < MESSAGES ->
        if
        :: halves = 1
        :: halves = 2
        :: LIMIT >= 4 -> halves = 4
        fi;
        over = (halves > 1 -> w % 2 : 0);
        rest = HALVES - (w + over) % HALVES;
        rest = (over == 1 && (w + 1) % HALVES == 0 -> 0 : rest);
        if
        :: halves > rest || !fits(over + halves) ->
            /* fastsm_fifo_prepare_padded(), again and again */
            rest = (halves > rest -> rest : 0);
            if
            :: over + rest > 0 && BROKEN != 10 -> fits(over + rest)
            :: over + rest > 0 && BROKEN == 10 && rest > 0 -> fits(over + rest)
            :: else
            fi;
            if
            :: over > 0 && BROKEN != 10 -> pad(1)
            :: over > 0 && BROKEN == 10 && rest > 0 -> w = (w + 1) % MODULUS
            :: else
            fi;
            if :: rest > 0 -> pad(rest) :: else fi;
            over = (halves > 1 -> w % 2 : 0);
            fits(over + halves)
        :: else
        fi;
        w = (w + over) % MODULUS;
        if :: BROKEN == 2 -> put_word(w) :: else fi;
        length[w % HALVES] = halves;
        data[w % HALVES] = n;
        if
        :: halves > 1 -> user_data(w + 1)
        :: halves == 1 && w % 2 == 0 && BROKEN != 7 -> word[(w + 1) % HALVES] = (w + 1) % MODULUS
        :: else
        fi;
        if
        :: halves == 4 ->
            if :: BROKEN != 3 -> put_word(w + 2) :: else fi;
            user_data(w + 3)
        :: else
        fi;
        put_word(w); /* S1 */
        w = (w + halves) % MODULUS;
        bells ! w % BELLS; /* B1 */
        n++
    :: else -> break
    od
}

/* Makes the sender's stores of the bell visible, sooner or later. */
proctype visibility()
{
    byte value;

end:
    do
    :: bells ? value -> bell = value
    od
}

#define is_there(p) (word[(p) % HALVES] == ((p) + 1) % MODULUS) /* S2 */

proctype receiver()
{
    byte r = START, s;
    bool found;

    do
    :: seen < MESSAGES ->
        /* B2: look only when the bell differs from what has been read */
        if
        :: BROKEN == 1 -> bell != cleared
        :: else -> bell != r % BELLS
        fi;
        do
        :: true ->
            /* fastsm_fifo_peek(); every look is a step of its own */
            found = is_there(r);
            if
            :: !found && r % 2 == 1 ->
                found = is_there(r + 1);
                if
                :: found && BROKEN != 9 ->
                    if
                    :: is_there(r)
                    :: else -> r = (r + 1) % MODULUS
                    fi
                :: found && BROKEN == 9 -> r = (r + 1) % MODULUS
                :: else
                fi
            :: else
            fi;
            if :: !found -> break :: else fi;
            s = length[r % HALVES];
            if
            :: data[r % HALVES] == PAD
            :: else ->
                assert(data[r % HALVES] == seen);
                assert(s == 1 || s == 2 || s == 4);
                assert(s == 1 || r % 2 == 0);
                seen++
            fi;
            r = (r + s) % MODULUS;
            read_pos = r /* R1 */
        od;
        if
        :: BROKEN == 1 -> bell = cleared
        :: else
        fi
    :: else -> break
    od
}

init {
    byte i;

    atomic {
        bell = START % BELLS;
        cleared = BELLS; /* no position has this bell */
        if :: BROKEN == 1 -> bell = cleared :: else fi;
        for (i : 0 .. HALVES - 1) {
            word[(START + MODULUS - HALVES + i) % HALVES] = (START + MODULUS - HALVES + i + 1) % MODULUS
        }
        run sender();
        run visibility();
        run receiver()
    }
}
