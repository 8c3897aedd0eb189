/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A rank that waits for long leaves its core alone: of the time that it is blocked in MPI, it uses a small
 * part, whichever call it is in. The bound is generous: many times what is in docs/waiting.md, and a fraction
 * of what a rank uses that does not sleep, also where it has to share its core. What it waits for ends its
 * sleep.
 *
 * idle           calls that wait for messages
 * idle windows   those of windows
 * idle unwoken   the same as without; messages end no sleep here
 * idle awake     and so it does not sleep
 * idle open      calls that wait for messages, while there are windows of osc/fastpath's
 * idle foreign   while there are windows of other components: it does not sleep, unless they are of shared
 *                memory; and operations that need it do not wait for it
 * idle many      one of many requests completes while the wait sleeps again and again: it ends soon
 */

#include "support/fp_counters.h"

enum { TAG = 23, BLOCKED_MS = 400, MOST_MS = 80, TRIES = 5, LONG = 4 << 20 };

enum { SLEEPS, WOKEN, COUNTERS };

static const char *const names[COUNTERS] = {"pml_fastpath_waits_sleeps", "pml_fastpath_waits_woken"};
static const char *const window_names[COUNTERS] = {"osc_fastpath_sleeps", "osc_fastpath_woken"};

static const char *how = ""; /* argument */
static char *buffer;
static MPI_Comm pair;   /* ranks 0 and 1 */
static MPI_Win window;  /* of them */
static MPI_Group other; /* the other one of them */

/* ---- what rank 1 is blocked in; rank 0, which comes late, does the rest ---- */

static void in_recv(bool late)
{
    if (late) {
        FP(MPI_Send(buffer, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(buffer, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void in_recv_any(bool late)
{
    if (late) {
        FP(MPI_Send(buffer, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(buffer, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void in_send(bool late)
{
    if (late) {
        FP(MPI_Recv(buffer, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Ssend(buffer, LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    }
}

static void in_probe(bool late)
{
    if (!late) {
        FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    in_recv(late);
}

static void in_wait(bool late)
{
    MPI_Request request;

    if (late) {
        in_recv(late);
    } else {
        FP(MPI_Irecv(buffer, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void in_waits(bool late, bool any)
{
    MPI_Request requests[2];
    int index = 0;

    for (int i = 0; i < 2; i++) {
        if (late) {
            in_recv(late);
        } else {
            FP(MPI_Irecv(buffer + 8 * i, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
        }
    }
    if (!late && any) {
        FP(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    }
    if (!late) {
        FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
}

static void in_waitany(bool late)
{
    in_waits(late, true);
}

static void in_waitall(bool late)
{
    in_waits(late, false);
}

static void in_barrier(bool late)
{
    (void) late;
    FP(MPI_Barrier(pair));
}

static void in_bcast(bool late)
{
    (void) late;
    FP(MPI_Bcast(buffer, 8, MPI_BYTE, 0, pair));
}

static void in_fence(bool late)
{
    (void) late;
    FP(MPI_Win_fence(0, window));
}

/* Rank 0 has the target's lock already. */
static void in_lock_of(int target, int type, bool late)
{
    if (!late) {
        FP(MPI_Win_lock(type, target, 0, window));
    }
    FP(MPI_Win_unlock(target, window));
}

static void in_lock(bool late)
{
    in_lock_of(0, MPI_LOCK_EXCLUSIVE, late);
}

/* Of rank 1, which waits for its own. */
static void in_own_lock(bool late)
{
    in_lock_of(1, MPI_LOCK_EXCLUSIVE, late);
}

static void in_shared_lock(bool late)
{
    in_lock_of(0, MPI_LOCK_SHARED, late);
}

static void in_lock_all(bool late)
{
    if (late) {
        FP(MPI_Win_unlock(0, window));
    } else {
        FP(MPI_Win_lock_all(0, window));
        FP(MPI_Win_unlock_all(window));
    }
}

static void in_start(bool late)
{
    if (late) {
        FP(MPI_Win_post(other, 0, window));
        FP(MPI_Win_wait(window));
    } else {
        FP(MPI_Win_start(other, 0, window));
        FP(MPI_Win_complete(window));
    }
}

static void in_win_wait(bool late)
{
    if (late) {
        FP(MPI_Win_start(other, 0, window));
        FP(MPI_Win_complete(window));
    } else {
        FP(MPI_Win_post(other, 0, window));
        FP(MPI_Win_wait(window));
    }
}

typedef struct {
    const char *name;
    void (*run)(bool late);
} call_t;

static const call_t calls[] = {
    {"MPI_Recv", in_recv},       {"MPI_Recv of any", in_recv_any},
    {"MPI_Ssend", in_send},      {"MPI_Probe", in_probe},
    {"MPI_Wait", in_wait},       {"MPI_Waitany", in_waitany},
    {"MPI_Waitall", in_waitall}, {"MPI_Barrier", in_barrier},
    {"MPI_Bcast", in_bcast},
};

/* As an argument "windows" says: they may be a component's that does not sleep. */
static const call_t window_calls[] = {
    {"MPI_Win_fence", in_fence},
    {"MPI_Win_lock", in_lock},
    {"MPI_Win_lock of its own", in_own_lock},
    {"MPI_Win_lock, shared", in_shared_lock},
    {"MPI_Win_lock_all", in_lock_all},
    {"MPI_Win_start", in_start},
    {"MPI_Win_wait", in_win_wait},
};

/* Rank 1 comes at once and waits, rank 0 comes so late; those above wait in the next barrier. @return CPU
 * time that the call took here, in ms */
static double block_once(void (*run)(bool late), int late_ms)
{
    double used;

    if (0 == fp_rank && (in_lock == run || in_shared_lock == run || in_lock_all == run)) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    } else if (0 == fp_rank && in_own_lock == run) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    used = fp_used_ms();
    if (0 == fp_rank) {
        fp_sleep_ms(late_ms);
    }
    if (1 >= fp_rank) {
        run(0 == fp_rank);
    }
    return fp_used_ms() - used;
}

/* On a virtual machine time in which its host takes the processor away is a process's, too. So a call that
 * has taken too much gets more tries; a rank that does not sleep needs as much each time. Nor is it woken if
 * it is awake by chance, for a look, when what it waits for comes. */
static void check(const char *name, void (*run)(bool late))
{
    int again = 1, woken = 1;
    double used = 0;
    unsigned long before;

    fp_case("%s", name);
    for (int tries = 0; again && TRIES > tries; tries++) {
        before = fp_counter(WOKEN);
        used = block_once(run, BLOCKED_MS);
        woken = 0 != strcmp("windows", how) || before < fp_counter(WOKEN);
        printf("# rank %d, %s: %.1f ms%s\n", fp_rank, name, used, woken ? "" : ", not woken");
        again = (MOST_MS <= used && 0 != strcmp("awake", how)) || !woken;
        FP(MPI_Bcast(&again, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    if (1 == fp_rank && 0 != strcmp("awake", how)) {
        fp_check(MOST_MS > used, __FILE__, __LINE__, "%.1f ms of processor time", used);
        CHECK(woken);
    }
}

/* Those above rank 1 have one of their own. */
static void begin_window(void)
{
    const int rank = 1 - fp_rank % 2;
    MPI_Group group;
    void *memory;

    FP(MPI_Win_allocate(8, 1, MPI_INFO_NULL, pair, &memory, &window));
    FP(MPI_Comm_group(MPI_COMM_WORLD, &group));
    FP(MPI_Group_incl(group, 1, &rank, &other));
    FP(MPI_Group_free(&group));
}

/* A call of Open MPI's that waits by other means is not counted, nor one of windows. */
static void check_counted(void)
{
    fp_case("counters");
    if (1 == fp_rank) {
        CHECK((0 == strcmp("awake", how)) == (0 == fp_counter(SLEEPS)));
        CHECK((0 != strcmp("", how)) == (0 == fp_counter(WOKEN)));
    }
}

/* Rank 0's message comes so late. @return whether the wait for it at rank 1 has slept, at both */
static int wait_for_any(MPI_Request *requests, int count, int first, int late_ms)
{
    enum { SLEEPS_MAX = 1000 };
    int index = MPI_UNDEFINED, slept = 0;

    FP(MPI_Barrier(pair));
    if (1 == fp_rank) {
        const unsigned long before = fp_counter(SLEEPS);
        unsigned long sleeps;

        FP(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
        CHECK_INT(index, first);
        sleeps = fp_counter(SLEEPS) - before;
        fp_check(sleeps < SLEEPS_MAX, __FILE__, __LINE__, "%lu sleeps", sleeps);
        slept = 0 < sleeps;
    } else if (0 == fp_rank) {
        fp_sleep_ms(late_ms);
        FP(MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    }
    FP(MPI_Bcast(&slept, 1, MPI_INT, 1, pair));
    return slept;
}

/* A wait for any of many requests that slept in each pause slept some thousand times more before it looked.
 * Where to look at all of them takes long, it sleeps late. */
static void any_of_many(void)
{
    enum { MANY = 50000, LATE_MS = 100 };
    MPI_Request *requests = malloc(MANY * sizeof(*requests));
    int tries = 0, slept = 0;

    fp_case("any of %d", MANY);
    for (int i = 0; i < MANY && 1 == fp_rank; i++) {
        FP(MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
    }
    while (!slept && TRIES > tries) {
        slept = wait_for_any(requests, MANY, tries, LATE_MS << tries);
        ++tries;
    }
    CHECK(slept);
    for (int i = tries; i < MANY && 0 == fp_rank; i++) {
        FP(MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    }
    if (1 == fp_rank) {
        FP(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    }
    free(requests);
}

/* Rank 1 waits for a message for so long. @return whether it has slept, at both */
static int sleeps_in_recv(int late_ms)
{
    const unsigned long before = fp_counter(SLEEPS);
    int slept;

    (void) block_once(in_recv, late_ms);
    slept = before < fp_counter(SLEEPS);
    FP(MPI_Bcast(&slept, 1, MPI_INT, 1, pair));
    return slept;
}

/* A wait that shall sleep gets more tries, longer ones: on a loaded machine its thread, or the kernel with
 * what announces its sleep, may come too late. */
static void check_sleeps(const char *name, bool sleeps)
{
    int slept, tries = 0;

    fp_case("%s", name);
    do {
        slept = sleeps_in_recv(BLOCKED_MS << tries);
    } while (sleeps && !slept && TRIES > ++tries);
    CHECK(sleeps == slept);
}

/* Open MPI's components may need rank 1, which waits, for each element: so many late answers would be a
 * time-out. */
static void accumulate_apart(void)
{
    enum { ELEMENTS = 50000 };
    int *values = calloc(2 * ELEMENTS, sizeof(*values));
    MPI_Datatype apart;

    fp_case("%d elements that are apart", ELEMENTS);
    FP(MPI_Type_vector(ELEMENTS, 1, 2, MPI_INT, &apart));
    FP(MPI_Type_commit(&apart));
    FP(MPI_Win_create(values, 2 * ELEMENTS * sizeof(*values), sizeof(*values), MPI_INFO_NULL, pair, &window));
    FP(MPI_Win_fence(0, window));
    if (0 == fp_rank) {
        for (int i = 0; i < ELEMENTS; ++i) {
            values[i] = i;
        }
        fp_sleep_ms(BLOCKED_MS);
        FP(MPI_Accumulate(values, ELEMENTS, MPI_INT, 1, 0, 1, apart, MPI_SUM, window));
    }
    FP(MPI_Win_fence(0, window));
    for (int i = 0; i < ELEMENTS && 1 == fp_rank; ++i) {
        CHECK_INT(values[2 * i], i);
    }
    FP(MPI_Win_free(&window));
    FP(MPI_Type_free(&apart));
    free(values);
}

static void with_windows(bool ours)
{
    MPI_Win shared;
    void *memory;

    check_sleeps("no window", true);
    FP(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, pair, &memory, &shared));
    check_sleeps("MPI_Win_allocate_shared", true);
    FP(MPI_Win_allocate(8, 1, MPI_INFO_NULL, pair, &memory, &window));
    check_sleeps("MPI_Win_allocate", ours);
    FP(MPI_Win_free(&shared));
    check_sleeps("MPI_Win_allocate alone", ours);
    FP(MPI_Win_free(&window));
    check_sleeps("no window any more", true);
    accumulate_apart();
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    how = 1 < argc ? argv[1] : "";
    buffer = calloc(1, LONG);
    fp_counters_open(MPI_THREAD_SINGLE, 0 == strcmp("windows", how) ? window_names : names, COUNTERS);
    FP(MPI_Comm_split(MPI_COMM_WORLD, 1 < fp_rank, fp_rank, &pair));
    if (0 == strcmp("windows", how)) {
        begin_window();
        for (size_t i = 0; i < sizeof(window_calls) / sizeof(window_calls[0]); i++) {
            check(window_calls[i].name, window_calls[i].run);
        }
        FP(MPI_Win_free(&window));
        FP(MPI_Group_free(&other));
    } else if (0 == strcmp("open", how) || 0 == strcmp("foreign", how)) {
        with_windows(0 == strcmp("open", how));
    } else if (0 == strcmp("many", how)) {
        any_of_many();
    } else {
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            check(calls[i].name, calls[i].run);
        }
        check_counted();
    }
    FP(MPI_Comm_free(&pair));
    fp_counters_close();
    free(buffer);
    return fp_finish();
}
