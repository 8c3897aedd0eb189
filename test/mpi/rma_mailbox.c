/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Small operations on memory that the kernel copies, which a target makes that is inside MPI: updates by all
 * operations and of all sizes of elements, puts and gets of all lengths, in created and dynamic windows; none
 * of them by a target that computes; and all ranks at all, while targets come and go, and other ways than
 * this one reach the same elements.
 *
 * usage: rma_mailbox [ROUNDS | off]        off: osc_fastpath_mailbox_spin_count is 0 */

#include "support/fp_counters.h"

#include <complex.h>

enum { MAILED, WITHDRAWN, HELPED, COUNTERS };

enum { AWAY = 1000, NUMBERS = 8, OWN = 3, TAG = 23 };

/* Tries of AWAY operations when nobody answers: after 1, 3, 7 ... 127 and then each 127 others. */
enum { MOST_TRIES = 7 + (AWAY - 126 + 127) / 128 };

static const char *const names[COUNTERS] = {"osc_fastpath_mailed", "osc_fastpath_mail_withdrawn",
                                            "osc_fastpath_helped"};

static bool off;

typedef struct {
    MPI_Win win;
    MPI_Aint base; /* displacement of the target's memory */
    long *memory;
    bool dynamic;
} window_t;

/* Memory of every rank, displacements in bytes. */
static window_t make(bool dynamic, int target)
{
    window_t window = {.dynamic = dynamic, .memory = fp_alloc(NUMBERS * sizeof(long))};

    memset(window.memory, 0, NUMBERS * sizeof(long));
    if (dynamic) {
        FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window.win));
        FP(MPI_Win_attach(window.win, window.memory, NUMBERS * sizeof(long)));
        FP(MPI_Get_address(window.memory, &window.base));
        FP(MPI_Bcast(&window.base, 1, MPI_AINT, target, MPI_COMM_WORLD));
    } else {
        FP(MPI_Win_create(window.memory, NUMBERS * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                          &window.win));
    }
    FP(MPI_Win_lock_all(0, window.win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    return window;
}

static void drop(window_t *window)
{
    FP(MPI_Win_unlock_all(window->win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (window->dynamic) {
        FP(MPI_Win_detach(window->win, window->memory));
    }
    FP(MPI_Win_free(&window->win));
    fp_free(window->memory);
}

/* --------------------------------------------------------------------- a target that is inside MPI */

/* An element, values of it, and what comes of them. */
typedef struct {
    const char *name;
    MPI_Datatype type;
    MPI_Op op; /* MPI_OP_NULL: compare and swap */
    size_t size;
    const void *before, *origin, *after;
} kind_t;

static const signed char c2 = 2, c3 = 3, c5 = 5;
static const short s2 = 2, s3 = 3, s6 = 6;
static const int i2 = 2, i3 = 3;
static const long l12 = 12, l10 = 10, l8 = 8;
static const float f2 = 2.5f, f3 = 3.5f, f6 = 6.0f;
static const double d2 = 2.5, d3 = 3.5;
static const double complex z2 = 2.5, z3 = 3.5, z6 = 6.0;
static const struct {
    int value, place;
} p2 = {2, 7}, p3 = {3, 9};

/* The target has the value before; fetch it and update it. @return whether the target did it */
static bool try_kind(const window_t *window, const kind_t *kind, MPI_Aint at)
{
    unsigned long mailed;
    char found[16];

    FP(MPI_Put(kind->before, 1, kind->type, 1, window->base + at, 1, kind->type, window->win));
    FP(MPI_Win_flush(1, window->win));
    mailed = fp_counter(MAILED);
    if (MPI_OP_NULL == kind->op) {
        FP(MPI_Compare_and_swap(kind->origin, kind->before, found, kind->type, 1, window->base + at,
                                window->win));
    } else {
        FP(MPI_Fetch_and_op(kind->origin, found, kind->type, 1, window->base + at, kind->op, window->win));
    }
    FP(MPI_Win_flush(1, window->win));
    CHECK(0 == memcmp(found, kind->before, kind->size));
    mailed = fp_counter(MAILED) - mailed;
    FP(MPI_Get(found, 1, kind->type, 1, window->base + at, 1, kind->type, window->win));
    FP(MPI_Win_flush(1, window->win));
    CHECK(0 == memcmp(found, kind->after, kind->size));
    return 0 < mailed;
}

static void try_kinds(const window_t *window)
{
    const kind_t kinds[] = {
        {"1 byte, sum", MPI_SIGNED_CHAR, MPI_SUM, 1, &c2, &c3, &c5},
        {"2 bytes, product", MPI_SHORT, MPI_PROD, 2, &s2, &s3, &s6},
        {"4 bytes, replace", MPI_INT, MPI_REPLACE, 4, &i2, &i3, &i3},
        {"4 bytes, no operation", MPI_INT, MPI_NO_OP, 4, &i2, &i3, &i2},
        {"8 bytes, and", MPI_LONG, MPI_BAND, 8, &l12, &l10, &l8},
        {"float, sum", MPI_FLOAT, MPI_SUM, 4, &f2, &f3, &f6},
        {"double, maximum", MPI_DOUBLE, MPI_MAX, 8, &d2, &d3, &d3},
        {"complex of 16 bytes, sum", MPI_C_DOUBLE_COMPLEX, MPI_SUM, 16, &z2, &z3, &z6},
        {"pair", MPI_2INT, MPI_MAXLOC, 8, &p2, &p3, &p3},
        {"compare and swap", MPI_LONG, MPI_OP_NULL, 8, &l12, &l8, &l8},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (int shift = 0; shift < 2; shift++) { /* aligned and not */
            bool mailed;

            fp_case("%s, %s, at %d", window->dynamic ? "dynamic" : "created", kinds[i].name, shift);
            do {
                mailed = try_kind(window, &kinds[i], 16 + shift);
            } while (!mailed && !off); /* until the target, which waits, was fast enough */
            CHECK(!mailed || !off);
        }
    }
}

/* What comes back only if it is not as it was compared with. */
static void try_unequal(const window_t *window)
{
    const long unequal = 11, other = 4;
    unsigned long mailed;
    long found;

    do {
        found = 0;
        FP(MPI_Put(&l12, 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
        FP(MPI_Win_flush(1, window->win));
        mailed = fp_counter(MAILED);
        FP(MPI_Compare_and_swap(&other, &unequal, &found, MPI_LONG, 1, window->base, window->win));
        FP(MPI_Accumulate(&l10, 1, MPI_LONG, 1, window->base, 1, MPI_LONG, MPI_SUM, window->win));
        FP(MPI_Win_flush(1, window->win));
        CHECK_INT(found, 12);
        mailed = fp_counter(MAILED) - mailed;
        FP(MPI_Get(&found, 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
        FP(MPI_Win_flush(1, window->win));
        CHECK_INT(found, 22);
    } while (0 == mailed && !off);
}

/* Put some bytes and look, with all that is around them. @return whether the target did it */
static bool try_put(const window_t *window, int at, int length, char turn)
{
    char before[NUMBERS * sizeof(long)], bytes[NUMBERS * sizeof(long)], after[NUMBERS * sizeof(long)];
    unsigned long mailed;

    memset(before, turn, sizeof(before));
    FP(MPI_Put(before, sizeof(before), MPI_CHAR, 1, window->base, sizeof(before), MPI_CHAR, window->win));
    FP(MPI_Win_flush(1, window->win));
    for (int i = 0; i < length; i++) {
        bytes[i] = before[at + i] = (char) (turn + 1 + i);
    }
    mailed = fp_counter(MAILED);
    FP(MPI_Put(bytes, length, MPI_CHAR, 1, window->base + at, length, MPI_CHAR, window->win));
    FP(MPI_Win_flush(1, window->win));
    mailed = fp_counter(MAILED) - mailed;
    FP(MPI_Get(after, sizeof(after), MPI_CHAR, 1, window->base, sizeof(after), MPI_CHAR, window->win));
    FP(MPI_Win_flush(1, window->win));
    CHECK(0 == memcmp(before, after, sizeof(before)));
    return 0 < mailed;
}

/* Get some bytes, and nothing behind them. @return whether the target did it */
static bool try_get(const window_t *window, int at, int length, char turn)
{
    char there[NUMBERS * sizeof(long)], bytes[NUMBERS * sizeof(long)];
    unsigned long mailed;

    for (size_t i = 0; i < sizeof(there); i++) {
        there[i] = (char) (turn + (char) i);
    }
    FP(MPI_Put(there, sizeof(there), MPI_CHAR, 1, window->base, sizeof(there), MPI_CHAR, window->win));
    FP(MPI_Win_flush(1, window->win));
    memset(bytes, 99, sizeof(bytes));
    mailed = fp_counter(MAILED);
    FP(MPI_Get(bytes, length, MPI_CHAR, 1, window->base + at, length, MPI_CHAR, window->win));
    FP(MPI_Win_flush(1, window->win));
    mailed = fp_counter(MAILED) - mailed;
    CHECK(0 == memcmp(bytes, there + at, (size_t) length));
    for (size_t i = (size_t) length; i < sizeof(bytes); i++) {
        CHECK_INT(bytes[i], 99);
    }
    return 0 < mailed;
}

/* Up to the last byte that a mailbox takes, and one more. */
static void try_bytes(const window_t *window)
{
    for (int length = 1; length <= 17; length++) {
        for (int at = 16; at < 20; at++) {
            const bool never = off || 16 < length;
            char turn = 0;
            bool mailed;

            fp_case("%s, put of %d bytes, at %d", window->dynamic ? "dynamic" : "created", length, at);
            do {
                mailed = try_put(window, at, length, turn++);
            } while (!mailed && !never);
            CHECK(!mailed || !never);
            fp_case("%s, get of %d bytes, at %d", window->dynamic ? "dynamic" : "created", length, at);
            do {
                mailed = try_get(window, at, length, turn++);
            } while (!mailed && !never);
            CHECK(!mailed || !never);
        }
    }
}

/* Two puts, of which one is all that is left: by themselves, with a get and with an update behind. */
static void try_several(const window_t *window)
{
    long found[3] = {0, 0, 0};

    fp_case("%s, several operations", window->dynamic ? "dynamic" : "created");
    for (int i = 0; i < 100; i++) {
        const long values[3] = {i, -i, 3 * i};

        FP(MPI_Put(&values[0], 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
        FP(MPI_Put(&values[1], 1, MPI_LONG, 1, window->base + 16, 1, MPI_LONG, window->win));
        FP(MPI_Win_flush(1, window->win));
        FP(MPI_Put(&values[2], 1, MPI_LONG, 1, window->base + 8, 1, MPI_LONG, window->win));
        FP(MPI_Get(&found[0], 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
        FP(MPI_Win_flush(1, window->win));
        CHECK_INT(found[0], i);
        FP(MPI_Put(&values[2], 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
        FP(MPI_Accumulate(&values[2], 1, MPI_LONG, 1, window->base + 16, 1, MPI_LONG, MPI_SUM, window->win));
        FP(MPI_Win_flush(1, window->win));
        FP(MPI_Get(found, 3, MPI_LONG, 1, window->base, 3, MPI_LONG, window->win));
        FP(MPI_Win_flush(1, window->win));
        CHECK_INT(found[0], 3 * i);
        CHECK_INT(found[1], 3 * i);
        CHECK_INT(found[2], 2 * i);
    }
}

static void inside(bool dynamic)
{
    window_t window = make(dynamic, 1);

    if (0 == fp_rank) {
        try_kinds(&window);
        try_unequal(&window);
        try_bytes(&window);
        try_several(&window);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* where the target waits */
    drop(&window);
}

/* --------------------------------------------------- long puts and gets, in which a target takes part */

enum { LONG_ONE = 3000017 };

static unsigned char byte_of(int turn, size_t at)
{
    return (unsigned char) ((size_t) turn * 31 + at + (at >> 8) * 7 + (at >> 16) * 13);
}

static void fill(unsigned char *memory, int turn)
{
    for (size_t i = 0; i < LONG_ONE; i++) {
        memory[i] = byte_of(turn, i);
    }
}

static void check_filled(const unsigned char *memory, int turn)
{
    size_t right = 0;

    while (right < LONG_ONE && byte_of(turn, right) == memory[right]) {
        right++;
    }
    CHECK_INT(right, LONG_ONE);
}

/* By a target that waits or computes; what is beside is not touched. */
static void try_long(MPI_Win win, MPI_Aint base, bool away)
{
    unsigned char *out = fp_alloc(LONG_ONE), *in = fp_alloc(LONG_ONE);
    const unsigned long before = fp_counter(HELPED);
    unsigned char beside[2] = {1, 1};

    for (int turn = 0; turn < 10 || (!away && !off && before == fp_counter(HELPED)); turn++) {
        fill(out, turn);
        memset(in, 0, LONG_ONE);
        FP(MPI_Put(out, LONG_ONE, MPI_BYTE, 1, base + 1, LONG_ONE, MPI_BYTE, win));
        FP(MPI_Win_flush(1, win));
        FP(MPI_Get(in, LONG_ONE, MPI_BYTE, 1, base + 1, LONG_ONE, MPI_BYTE, win));
        FP(MPI_Win_flush(1, win));
        check_filled(in, turn);
    }
    CHECK((!away && !off) == (before < fp_counter(HELPED)));
    FP(MPI_Get(&beside[0], 1, MPI_BYTE, 1, base, 1, MPI_BYTE, win));
    FP(MPI_Get(&beside[1], 1, MPI_BYTE, 1, base + 1 + LONG_ONE, 1, MPI_BYTE, win));
    FP(MPI_Win_flush(1, win));
    CHECK(0 == beside[0] && 0 == beside[1]);
    fp_free(out);
    fp_free(in);
}

static void long_ones(bool dynamic, bool away)
{
    char *memory = fp_alloc(LONG_ONE + 2);
    MPI_Aint base = 0;
    MPI_Win win;
    fp_away_t left;

    fp_case("%s, long puts and gets, the target %s", dynamic ? "dynamic" : "created",
            away ? "computes" : "waits");
    memset(memory, 0, LONG_ONE + 2);
    if (dynamic) {
        FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        FP(MPI_Win_attach(win, memory, LONG_ONE + 2));
        FP(MPI_Get_address(memory, &base));
        FP(MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD));
    } else {
        FP(MPI_Win_create(memory, LONG_ONE + 2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    FP(MPI_Win_lock_all(0, win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (away) {
        fp_leave(&left, 1, TAG);
    }
    if (0 == fp_rank) {
        try_long(win, base, away);
        if (away) {
            fp_come_back(&left);
        }
    }
    FP(MPI_Win_unlock_all(win));
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* where the target waits */
    if (dynamic) {
        FP(MPI_Win_detach(win, memory));
    }
    FP(MPI_Win_free(&win));
    fp_free(memory);
}

/* ------------------------------------------------------------------------ a target that computes */

/* An update; a put and a get. */
static void update(const window_t *window, int i)
{
    const long one = 1;
    long found = -1;

    FP(MPI_Fetch_and_op(&one, &found, MPI_LONG, 1, window->base, MPI_SUM, window->win));
    FP(MPI_Win_flush(1, window->win));
    CHECK_INT(found, i);
}

static void put_and_get(const window_t *window, int i)
{
    const long value = i;
    long found = -1;

    FP(MPI_Put(&value, 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
    FP(MPI_Win_flush(1, window->win));
    FP(MPI_Get(&found, 1, MPI_LONG, 1, window->base, 1, MPI_LONG, window->win));
    FP(MPI_Win_flush(1, window->win));
    CHECK_INT(found, i);
}

static void outside(bool dynamic, bool updates)
{
    window_t window = make(dynamic, 1);
    fp_counts_t before;
    fp_away_t away;

    fp_case("%s, %s, the target computes", dynamic ? "dynamic" : "created",
            updates ? "updates" : "puts and gets");
    fp_leave(&away, 1, TAG);
    if (0 == fp_rank) {
        fp_counts_t since;

        before = fp_counters_now();
        for (int i = 0; i < (updates ? AWAY : AWAY / 2); i++) {
            (updates ? update : put_and_get)(&window, i);
        }
        since = fp_counters_since(&before);
        CHECK_INT(since.value[MAILED], 0);
        CHECK(off ? 0 == since.value[WITHDRAWN]
                  : 0 < since.value[WITHDRAWN] && MOST_TRIES >= since.value[WITHDRAWN]);
        fp_come_back(&away);
    }
    drop(&window);
}

/* ------------------------------------------------------------------------------------- everybody */

/* Computes for as long as some looks of an origin take. */
static void compute(int turns)
{
    for (volatile int i = 0; i < turns; i++) {
    }
}

/* Puts a number where nobody else does, and gets it. */
static void put_own(const window_t *window, int target, long number)
{
    const MPI_Aint at = (MPI_Aint) sizeof(long) * (OWN + fp_rank);
    long found = -1;

    FP(MPI_Put(&number, 1, MPI_LONG, target, at, 1, MPI_LONG, window->win));
    FP(MPI_Win_flush(target, window->win));
    FP(MPI_Get(&found, 1, MPI_LONG, target, at, 1, MPI_LONG, window->win));
    FP(MPI_Win_flush(target, window->win));
    CHECK_INT(found, number);
}

/* All add to two numbers of all: one in short updates, the other as a part of long ones, too, and with a
 * type of gaps. What was there before is seen by nobody else. And all put a number of their own. */
static void everybody(int rounds)
{
    window_t window = make(false, 0);
    const long ones[3] = {1, 1, 1};
    long sum = 0, last[64] = {0};
    unsigned random = 1 + (unsigned) fp_rank;
    MPI_Datatype gaps;

    fp_case("everybody, %d rounds", rounds);
    FP(MPI_Type_vector(2, 1, 2, MPI_LONG, &gaps));
    FP(MPI_Type_commit(&gaps));
    for (int i = 0; i < rounds; i++) {
        long found[3] = {-1, -1, -1};
        int target;

        random = random * 1103515245u + 12345u;
        target = (int) (random >> 16) % fp_size;
        switch (random >> 24 & 7) {
        case 0:
            FP(MPI_Get_accumulate(ones, 3, MPI_LONG, found, 3, MPI_LONG, target, 0, 3, MPI_LONG, MPI_SUM,
                                  window.win));
            break;
        case 1:
            FP(MPI_Get_accumulate(ones, 2, MPI_LONG, found, 2, MPI_LONG, target, 0, 1, gaps, MPI_SUM,
                                  window.win));
            break;
        default:
            FP(MPI_Fetch_and_op(ones, found, MPI_LONG, target, 0, MPI_SUM, window.win));
            break;
        }
        FP(MPI_Win_flush(target, window.win));
        CHECK(found[0] >= last[target]); /* what I have added is there */
        last[target] = found[0] + 1;
        put_own(&window, target, i);
        if (0 == i % 50) {
            compute((int) (random & 0x7fff));
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Fetch_and_op(NULL, &sum, MPI_LONG, fp_rank, 0, MPI_NO_OP, window.win));
    FP(MPI_Win_flush(fp_rank, window.win));
    FP(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(sum, (long) rounds * fp_size);
    FP(MPI_Type_free(&gaps));
    drop(&window);
}

int main(int argc, char **argv)
{
    int rounds = 2000;

    fp_init(&argc, &argv, 2);
    fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    off = 1 < argc && 0 == strcmp(argv[1], "off");
    if (1 < argc && !off) {
        rounds = atoi(argv[1]);
    } else {
        inside(false);
        inside(true);
        for (int i = 0; i < 4; i++) {
            outside(0 != i % 2, 2 > i);
            long_ones(0 != i % 2, 2 > i);
        }
    }
    everybody(rounds);
    fp_counters_close();
    return fp_finish();
}
