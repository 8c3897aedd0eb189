/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The ring of btl_fastsm_ring.h: PRODUCERS senders with MESSAGES messages each, one receiver,
 * DEPTH slots, positions modulo MODULUS so that they wrap around on the way.
 *
 * A sender reserves (load write position, load read position, compare-and-swap), fills and commits; the
 * receiver peeks, reads and releases.  Checked in every interleaving: a slot has one filler at a time, nobody
 * overwrites what has not been read, the receiver reads what was put there for just this position, each sender's
 * messages come in order and all of them, and nobody waits for ever.
 *
 * Accesses are sequentially consistent here; that acquire and release suffice is argued in
 * docs/memory-ordering.md.  What is modelled is the algorithm: loads that are old by the time they are
 * used, claims that fail, words of former laps.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  the position is stored instead of being swapped
 *   2  the word is stored before the data
 *   3  the receiver releases before it has read
 *   4  no look at the read position
 *   5  the word does not tell one lap from another
 */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef DEPTH
#define DEPTH 2
#endif
#define MODULUS 32
#ifndef BROKEN
#define BROKEN 0
#endif

#define NOTHING 255

/* Positions start shortly before they wrap; all slots have their words of the lap before. */
#define START (MODULUS - 2)
#define WORD(pos) ((BROKEN == 5) -> 1 : ((pos) + 1) % MODULUS)

byte write_pos = START;
byte read_pos = START;
byte word[DEPTH];
byte from[DEPTH]; /* data: who */
byte number[DEPTH]; /* data: which of his */
byte filler[DEPTH]; /* ghost: who is filling this slot; NOTHING: nobody */
bool unread[DEPTH]; /* ghost: committed and not read yet */

proctype producer(byte me)
{
    byte w, r, slot, i = 0;

    do
    :: i < MESSAGES ->
        w = write_pos;
        r = read_pos;
        if
        :: BROKEN == 4 || (w - r + MODULUS) % MODULUS < DEPTH || (w - r + MODULUS) % MODULUS > MODULUS / 2 ->
            /* there was room, or the read position is newer than ours, and then the claim fails */
            if
            :: BROKEN != 1 ->
                atomic {
                    if
                    :: write_pos == w -> write_pos = (w + 1) % MODULUS
                    :: else -> goto again
                    fi
                }
            :: else -> write_pos = (w + 1) % MODULUS
            fi;
            slot = w % DEPTH;
            atomic {
                assert(filler[slot] == NOTHING);
                assert(!unread[slot]);
                filler[slot] = me
            }
            if
            :: BROKEN == 2 -> atomic { word[slot] = WORD(w); unread[slot] = true }
            :: else
            fi;
            from[slot] = me;
            number[slot] = i;
            atomic {
                filler[slot] = NOTHING;
                if
                :: BROKEN != 2 -> word[slot] = WORD(w); unread[slot] = true
                :: else
                fi
            }
            i++
        :: else -> /* full: asked again later, with another answer only if one of them has moved */
            (read_pos != r || write_pos != w)
        fi;
again:
        skip
    :: else -> break
    od
}

proctype consumer()
{
    byte r = START, slot, who, which, count = 0;
    byte next[PRODUCERS];

    do
    :: count < PRODUCERS * MESSAGES ->
        slot = r % DEPTH;
        word[slot] == WORD(r); /* peek until it is there */
        if
        :: BROKEN == 3 -> atomic { unread[slot] = false; read_pos = (r + 1) % MODULUS }
        :: else
        fi;
        who = from[slot];
        which = number[slot];
        assert(filler[slot] == NOTHING);
        assert(which == next[who]); /* in order, none twice */
        next[who]++;
        r = (r + 1) % MODULUS;
        if
        :: BROKEN != 3 -> atomic { unread[slot] = false; read_pos = r }
        :: else
        fi;
        count++
    :: else -> break
    od;
    assert(write_pos == (START + PRODUCERS * MESSAGES) % MODULUS)
}

init {
    byte i;

    atomic {
        for (i : 0 .. DEPTH - 1) {
            filler[i] = NOTHING
        }
        /* positions START - DEPTH .. START - 1 have been written and read */
        for (i : 0 .. DEPTH - 1) {
            word[(START - DEPTH + i) % DEPTH] = (BROKEN == 5 -> 0 : START - DEPTH + i + 1)
        }
        for (i : 0 .. PRODUCERS - 1) {
            run producer(i)
        }
        run consumer()
    }
}
