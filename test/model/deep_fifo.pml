/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Moving to a deep FIFO (btl_fastsm_deep.c): two senders, each with a FIFO of its own, one receiver, and one
 * FIFO in its deep FIFOs.  Both senders may ask for it, at any time; the first may be killed at any time.  Messages have one
 * or two slots, all FIFOs have two, positions are modulo MODULUS.
 *
 * Checked in every interleaving: what a sender sent is read in order; all of it, unless it was killed; and nobody
 * waits for ever, so the second sender is never held up by what became of the first.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  a FIFO whose writer was killed is not renewed
 *   2  a FIFO is taken back while its writer is alive, when it is empty
 *   3  a FIFO is taken back when its writer has ended, though not all has been read
 *   4  a new writer starts at position 0
 *   5  an answer to whoever had the sender's place before is still there
 *   6  the receiver reads both FIFOs of a sender at once, and the sender does not wait until the old one is read
 *   7  whether the FIFO is empty is looked at before, and not after, its writer has ended
 */

#ifndef FIRST
#define FIRST 1 /* messages of sender 0 */
#endif
#ifndef SECOND
#define SECOND 2 /* of sender 1 */
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define MODULUS  8
#define ARENA    2
#define WANT     90
#define CONTINUE 91
#define NOBODY   9
#define REFUSED  1
#define GRANTED  2

byte word[6];
byte data[6];      /* number of the message, or WANT, CONTINUE */
byte slots[6];     /* of a message */
byte read_pos[3];  /* one for each FIFO: of sender 0, of sender 1, the deep FIFOs's */
byte assignment[2];     /* answers: 4 * serial + REFUSED or GRANTED */
byte serial_of[6]; /* of a WANT */
bool kill_it;
bool ended[2];     /* the process is no more */
bool killed;       /* ghost: it was killed */
byte seen[2];      /* ghost: messages received */
byte writer = NOBODY;
byte in[2];        /* the FIFO that the receiver reads */

#define AT(f, p)      ((f) * 2 + (p) % 2)
#define NEXT(p)       (((p) + 1) % MODULUS)
#define EMPTY(f)      (word[AT(f, read_pos[f])] != NEXT(read_pos[f]))
#define ROOM(f, need) ((w - read_pos[f] + MODULUS) % MODULUS + need <= 2)

#define MESSAGES(s) ((s) == 0 -> FIRST : SECOND)

/* One slot that is no message.  What is in it is private until its word is there. */
inline post(f, what) {
    atomic {
        ROOM(f, 1);
        data[AT(f, w)] = what;
        serial_of[AT(f, w)] = serial
    };
    atomic {
        word[AT(f, w)] = NEXT(w); /* S1 */
        w = NEXT(w)
    }
}

proctype sender(byte me)
{
    byte w = 0, n = 0, f, serial = 0, need;
    bool asked = false;

    f = me;
    {
        do
        :: n < MESSAGES(me) && f == me && !asked && serial < 2 ->
            serial++;
            post(f, WANT);
            asked = true
        :: asked && assignment[me] / 4 == serial -> /* G2 */
            asked = false;
            if
            :: assignment[me] % 4 == GRANTED ->
                if
                :: BROKEN == 6
                :: else ->
                    post(f, CONTINUE);
                    read_pos[f] == w /* R2: all is read */
                fi;
                atomic {
                    f = ARENA;
                    w = (BROKEN == 4 -> 0 : read_pos[f])
                }
            :: else
            fi
        :: n < MESSAGES(me) ->
            if
            :: need = 1
            :: w % 2 == 0 -> need = 2
            fi;
            atomic {
                ROOM(f, need);
                data[AT(f, w)] = n;
                slots[AT(f, w)] = need
            };
            if
            :: need == 2 -> word[AT(f, w + 1)] = NEXT(w + 1)
            :: else
            fi;
            atomic {
                word[AT(f, w)] = NEXT(w); /* S1 */
                w = (w + need) % MODULUS;
                n++
            }
        :: n == MESSAGES(me) -> break
        od
    } unless {
        (me == 0 && kill_it) -> killed = true
    };
    ended[me] = true
}

proctype killer()
{
    if
    :: kill_it = true
    :: true
    fi
}

/* What is at the read position of FIFO f, of sender s. */
inline take(s, f) {
    if
    :: data[AT(f, read_pos[f])] == WANT ->
        v = serial_of[AT(f, read_pos[f])] * 4;
        if
        :: writer == NOBODY -> writer = s; assignment[s] = v + GRANTED /* G1 */
        :: else -> assert(writer != s); assignment[s] = v + REFUSED
        fi;
        read_pos[f] = NEXT(read_pos[f]) /* R1 */
    :: data[AT(f, read_pos[f])] == CONTINUE ->
        assert(writer == s && in[s] == s);
        read_pos[f] = NEXT(read_pos[f]);
        in[s] = ARENA
    :: else ->
        assert(data[AT(f, read_pos[f])] == seen[s]);
        seen[s]++;
        read_pos[f] = (read_pos[f] + slots[AT(f, read_pos[f])]) % MODULUS
    fi
}

/* The writer has ended and nothing of it is left. */
inline take_back() {
    if
    :: in[writer] == ARENA && BROKEN != 1 ->
        word[AT(ARENA, read_pos[ARENA])] = (read_pos[ARENA] + 1 - 2 + MODULUS) % MODULUS;
        word[AT(ARENA, read_pos[ARENA] + 1)] = read_pos[ARENA]
    :: else
    fi;
    in[writer] = writer;
    writer = NOBODY
}

proctype receiver()
{
    byte v;

    do
    :: atomic { !EMPTY(in[0]) -> take(0, in[0]) }
    :: atomic { !EMPTY(in[1]) -> take(1, in[1]) }
    :: atomic { BROKEN == 6 && writer != NOBODY && !EMPTY(ARENA) -> take(writer, ARENA) }
    :: writer != NOBODY && BROKEN == 2 && in[writer] == ARENA && EMPTY(ARENA) -> take_back()
    :: writer != NOBODY && ended[writer] && (BROKEN == 3 || (EMPTY(writer) && EMPTY(in[writer]))) ->
        take_back()
    :: writer != NOBODY && BROKEN == 7 && EMPTY(writer) && EMPTY(in[writer]) ->
        if
        :: ended[writer] -> take_back()
        :: else
        fi
    :: ended[0] && ended[1] && EMPTY(0) && EMPTY(1) && writer == NOBODY -> break
    od;
    assert(seen[1] == SECOND && (killed || seen[0] == FIRST))
}

init {
    atomic {
        word[0] = MODULUS - 1; word[1] = 0;
        word[2] = MODULUS - 1; word[3] = 0;
        word[4] = MODULUS - 1; word[5] = 0;
        in[1] = 1;
        if :: BROKEN == 5 -> assignment[1] = 4 + GRANTED :: else fi;
        run sender(0);
        run sender(1);
        run killer();
        run receiver()
    }
}
