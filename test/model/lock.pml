/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The target locks of one-sided communication (osc_fastpath_member.h, osc_fastpath_lock.c): words of two targets that
 * processes of a node share or have exclusively.  Who is refused waits until it may try again.
 *
 * SCENE 1: readers of both targets, who take them in opposite order, one after the other and more than once, and a writer
 * of each target.  SCENE 2: who takes all locks of the node (MPI_Win_lock_all), a writer that takes both, one of target 0.
 * SCENE 3: readers of target 0, and its owner, who tries for writers that have asked by message, and may leave MPI for ever
 * at any time, unless it has the lock.  Each try that fails leaves another word; a reader that finds the same word once more
 * takes it away.  (In the code it waits for some time before it does, which a model has not.)
 *
 * A reader may be late, and take a lock that nobody has though writers wait; who takes all locks may keep some while it
 * waits for the next one.  How long that takes is time, which a model has not: it may be so at any moment.
 *
 * Checked in every interleaving: nobody has a lock that another one has exclusively; nobody waits for ever; nobody counts
 * as waiting who does not; of those who hold nothing yet, each joins other readers past a waiting writer once at most, when
 * it has looked before; and a word of the owner is taken away only when the owner has not tried again since the reader saw
 * it first.
 *
 * BROKEN leaves out one thing that is needed; each has to be found:
 *   1  readers do not wait behind waiting writers
 *   2  readers wait behind them, too, when they have another lock
 *   3  a writer that has got in still counts as waiting
 *   4  a writer takes the lock as soon as no writer has it
 *   5  who takes all locks keeps some while it waits for another, and never lets go
 *   6  a reader that leaves stores that nobody has the lock
 *   7  the owner counts those who have asked by message as waiting writers
 *   8  a reader takes away what it finds, which may be another word by now
 *   9  readers do not look at the word
 *  10  a reader that is late joins others
 */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef SCENE
#define SCENE 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef TRIES
#define TRIES 3
#endif
#define EXCLUSIVE 100

byte holders[2];
byte writers[2];
byte inside[2];    /* readers that have the lock */
byte writing[2];   /* writers that have it */
byte waiting[2];   /* writers that wait for it */
byte overtaken[2]; /* readers without a lock that joined others while a writer waited */

#define LOOK(w, pass) ((pass) || BROKEN == 1 || writers[w] == 0)
#define LATE(w) (holders[w] == 0 || (BROKEN == 10 && holders[w] < EXCLUSIVE))

inline get_in(w, pass) {
    if
    :: !(pass) && writers[w] > 0 && holders[w] > 0 -> overtaken[w]++
    :: else
    fi;
    holders[w]++;
    inside[w]++
}

/* Two steps: a look at the waiting writers, then a compare and swap of the holders. One that is late does not look. */
inline share(w, pass) {
    do
    :: LOOK(w, pass) ->
        if
        :: d_step { holders[w] < EXCLUSIVE -> get_in(w, pass) };
            break
        :: holders[w] >= EXCLUSIVE -> (holders[w] < EXCLUSIVE)
        fi
    :: d_step { !(pass) && LATE(w) -> get_in(w, pass) };
        break
    od;
    assert(writing[w] == 0);
    assert(overtaken[w] <= 1 || BROKEN == 2) /* one reader comes here without another lock */
}

inline unshare(w) {
    d_step {
        inside[w]--;
        if
        :: BROKEN == 6 -> holders[w] = 0
        :: else -> holders[w]--
        fi
    }
}

inline seize(w) {
    waits = false;
    do
    :: d_step { holders[w] == 0 || (BROKEN == 4 && holders[w] < EXCLUSIVE) ->
        holders[w] = EXCLUSIVE;
        writing[w]++ };
        break
    :: holders[w] != 0 && !waits -> d_step { writers[w]++; waiting[w]++; waits = true }
    :: holders[w] != 0 && waits -> (holders[w] == 0 || BROKEN == 4)
    od;
    skip;
    d_step {
        if
        :: waits -> waiting[w]--; writers[w] = writers[w] - (BROKEN != 3); overtaken[w] = 0
        :: else
        fi;
        assert(writers[w] == waiting[w])
    };
    assert(inside[w] == 0 && writing[w] == 1)
}

inline unseize(w) {
    d_step { writing[w]--; holders[w] = 0 }
}

proctype reader(byte first) {
    byte second = 1 - first;
    byte round;

    for (round : 1 .. ROUNDS) {
        share(first, false);
        share(second, BROKEN != 2);
        unshare(first);
        unshare(second)
    }
}

proctype writer(byte w; byte times) {
    bool waits;
    byte round;

    for (round : 1 .. times) {
        seize(w);
        unseize(w)
    }
}

proctype both() {
    bool waits;

    seize(1);
    seize(0);
    unseize(0);
    unseize(1)
}

#define NEXT ((first + has) % 2)
#define SHARABLE(w) (LATE(w) || (LOOK(w, false) && holders[w] < EXCLUSIVE))

/* All or nothing: what it has it keeps for some time, then it lets go, and begins with what it was refused. */
proctype all() {
    byte has = 0;
    byte first = 0;
    byte refused;

    do
    :: has == 2 -> break
    :: d_step { has < 2 && SHARABLE(NEXT) -> get_in(NEXT, true); has++ }
    :: has == 1 && !SHARABLE(NEXT) && BROKEN != 5 -> refused = NEXT; unshare(first); has = 0; first = refused
    od;
    assert(writing[0] == 0 && writing[1] == 0);
    unshare(0);
    unshare(1)
}

byte claim;     /* of the owner, or 0 */
byte passed;    /* readers that got in since it was 0 */
bool tried[2];  /* by reader: the owner has tried again since the reader saw its word */

proctype patient(byte id) {
    byte round, seen;

    for (round : 1 .. ROUNDS) {
        seen = 0;
        do
        :: (claim == 0 || BROKEN == 9) && writers[0] == 0 ->
            if
            :: d_step { holders[0] < EXCLUSIVE ->
                holders[0]++;
                inside[0]++;
                if
                :: claim != 0 -> passed++
                :: else
                fi };
                assert(writing[0] == 0);
                assert(passed <= 2); /* each of the two readers, when it has looked before */
                break
            :: holders[0] >= EXCLUSIVE -> (holders[0] < EXCLUSIVE)
            fi
        :: claim != 0 && BROKEN != 9 ->
            if
            :: d_step { claim != seen -> seen = claim; tried[id] = false }
            :: claim == seen && seen != 0 -> /* a compare and swap follows, or nothing to compare */
                if
                :: d_step { claim == seen || (BROKEN == 8 && claim != 0) -> assert(!tried[id]); claim = 0 }
                :: claim != seen && BROKEN != 8 -> skip
                :: claim == 0 -> skip
                fi
            :: claim == 0 && seen == 0 -> skip
            fi
        od;
        unshare(0)
    }
}

proctype owner() {
    byte round;
    byte word = 0;
    bool waits = false;

    for (round : 1 .. ROUNDS) {
        do
        :: d_step { holders[0] == 0 -> holders[0] = EXCLUSIVE; writing[0]++ };
            break
        :: d_step { holders[0] != 0 && word < TRIES ->
            word++;
            if
            :: BROKEN == 7 && !waits -> writers[0]++; waits = true
            :: BROKEN == 7 && waits
            :: else ->
                if
                :: claim == 0 -> passed = 0
                :: else
                fi;
                claim = word;
                tried[0] = true;
                tried[1] = true
            fi }
        :: goto end_away
        od;
        claim = 0;
        if
        :: waits -> writers[0]--; waits = false
        :: else
        fi;
        assert(inside[0] == 0 && writing[0] == 1);
        unseize(0)
    }
end_away:
    false
}

init {
    atomic {
        if
        :: SCENE == 1 ->
            run reader(0);
            run reader(1);
            run writer(0, ROUNDS);
            run writer(1, 1)
        :: SCENE == 3 ->
            run patient(0);
            run patient(1);
            run owner()
        :: SCENE == 2 ->
            run all();
            run both();
            run writer(0, 1)
        fi
    }
}
