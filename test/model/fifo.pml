/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The FIFO of btl_fastsm_fifo.h with its doorbell: one sender, one receiver, DEPTH slots, messages of
 * one or two slots with pads before the end, positions modulo MODULUS, bells modulo BELLS.
 *
 * The bell is a relaxed store: it becomes visible at any time after it was made, in order with other bells and
 * in no order with the slots.  So it goes through a queue of its own from the sender to what the receiver
 * sees.  The receiver looks at the bell only (poll_bells).  Checked in every interleaving: it reads what was
 * sent, in order and all of it; nothing is overwritten before it is read; and no message is lost
 * because the bell says that there is none.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  the receiver clears the bell, with a plain store, when it has read all there is
 *   2  the word of the head is stored before the data
 *   3  slots that are skipped or further ones get no word
 *   4  the sender does not look for room
 *   5  a bell is as narrow as the FIFO is deep
 *   6  the bell does not ring for a pad, behind which the message may have to wait for room
 */

#ifndef MESSAGES
#define MESSAGES 6
#endif
#ifndef DEPTH
#define DEPTH 4
#endif
#define MODULUS 8
#ifndef BROKEN
#define BROKEN 0
#endif
#define BELLS ((BROKEN == 5) -> DEPTH : 2 * DEPTH)

#define START (MODULUS - 3)
#define PAD 99
#define MORE 98

byte word[DEPTH];
byte data[DEPTH]; /* number of the message in its head, PAD, or MORE in a further slot */
byte length[DEPTH]; /* slots of the message or pad */
byte bell; /* what the receiver sees */
byte cleared; /* BROKEN 1: the value that the bell has been cleared to stand for */
byte read_pos = START;
byte seen = 0; /* ghost: messages received */
chan bells = [3] of { byte }; /* stores of the bell that are not visible yet */

inline put_word(p) { word[(p) % DEPTH] = ((p) + 1) % MODULUS }

inline room(need) {
    if
    :: BROKEN == 4
    :: else -> (w - read_pos + MODULUS) % MODULUS + need <= DEPTH
    fi
}

proctype sender()
{
    byte w = START, n = 0, slots, to_end, i;

    do
    :: n < MESSAGES ->
        if
        :: slots = 1
        :: slots = 2
        fi;
        to_end = DEPTH - w % DEPTH;
        if
        :: slots > to_end ->
            room(to_end);
            i = 1;
            do
            :: i < to_end ->
                if :: BROKEN != 3 -> put_word(w + i) :: else fi;
                i++
            :: else -> break
            od;
            data[w % DEPTH] = PAD;
            length[w % DEPTH] = to_end;
            put_word(w);
            w = (w + to_end) % MODULUS;
            if :: BROKEN != 6 -> bells ! w % BELLS :: else fi
        :: else
        fi;
        room(slots);
        if :: BROKEN == 2 -> put_word(w) :: else fi;
        length[w % DEPTH] = slots;
        data[w % DEPTH] = n;
        if
        :: slots == 2 ->
            data[(w + 1) % DEPTH] = MORE;
            if :: BROKEN != 3 -> put_word(w + 1) :: else fi
        :: else
        fi;
        put_word(w); /* S1 */
        w = (w + slots) % MODULUS;
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

proctype receiver()
{
    byte r = START, s;

    do
    :: seen < MESSAGES ->
        /* B2: look only when the bell differs from what has been read */
        if
        :: BROKEN == 1 -> bell != cleared
        :: else -> bell != r % BELLS
        fi;
        do
        :: word[r % DEPTH] == (r + 1) % MODULUS -> /* S2 */
            s = length[r % DEPTH];
            if
            :: data[r % DEPTH] == PAD
            :: else ->
                assert(data[r % DEPTH] == seen);
                if
                :: s == 2 -> assert(data[(r + 1) % DEPTH] == MORE)
                :: else -> assert(s == 1)
                fi;
                seen++
            fi;
            r = (r + s) % MODULUS;
            read_pos = r /* R1 */
        :: else -> break
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
        for (i : 0 .. DEPTH - 1) {
            word[(START - DEPTH + i) % DEPTH] = START - DEPTH + i + 1
        }
        run sender();
        run visibility();
        run receiver()
    }
}
