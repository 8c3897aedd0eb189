/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Whether a rank that waits keeps its core or gives it away: as pml_fastpath_wait says, which may change
 * while the job runs; and if that is "auto", as the two ranks are bound, which may change, too.
 *
 * Each case goes on until the waits are as they should be; if they never are, the watchdog ends it. With the
 * argument "told", mpi_yield_when_idle 0 is given, and with that "auto" never gives the core away. With
 * "windows" waits of osc/fastpath do as those of pml/fastpath. With "there" a receive whose message is there
 * keeps its core, by whatever BTL it has come. With "collective" the wait for a nonblocking collective does
 * when that completes. */

#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/fp_counters.h"

enum { TAG = 17, LATE_MS = 3, ROUNDS = 100, TAKEN = 100, TAKEN_PER_SECOND = 5, KEPT_PART = 10 };

enum { SPINS, YIELDS, COUNTERS };

static const char *const names[COUNTERS] = {"pml_fastpath_waits_spins", "pml_fastpath_waits_yields"};

/* The values of the parameter. */
enum { AUTO, SPIN, YIELD };

static MPI_T_cvar_handle mode;

/* Takes the place of the library's: the calls are counted. */
static unsigned long yields;

int sched_yield(void)
{
    yields++;
    return (int) syscall(SYS_sched_yield);
}

static void set_mode(int value)
{
    FP(MPI_T_cvar_write(mode, &value));
}

static void open_mode(void)
{
    int index, count;

    FP(MPI_T_cvar_get_index("pml_fastpath_wait", &index));
    FP(MPI_T_cvar_handle_alloc(index, NULL, &mode, &count));
    CHECK_INT(count, 1);
}

/* Both ranks may run on these cores only. */
static void bind_to(const cpu_set_t *cores)
{
    CHECK_INT(sched_setaffinity(0, sizeof(*cores), cores), 0);
}

/* The n-th of the cores. */
static cpu_set_t one_of(const cpu_set_t *cores, int n)
{
    cpu_set_t one;
    int cpu = 0;

    CPU_ZERO(&one);
    while (!CPU_ISSET(cpu, cores) || 0 < n--) {
        cpu++;
    }
    CPU_SET(cpu, &one);
    return one;
}

/* Rank 1 waits for rank 0, which is late, once by each kind of call; what its waits did is counted. */
static fp_counts_t wait_once(void)
{
    const fp_counts_t before = fp_counters_now();
    MPI_Request request;
    int value = 0, flag = 0;

    if (0 == fp_rank) {
        for (int i = 0; i < 4; i++) {
            fp_sleep_ms(LATE_MS);
            FP(MPI_Send(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        }
    } else {
        FP(MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Irecv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FP(MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request));
        while (!flag) {
            FP(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        }
    }
    return fp_counters_since(&before);
}

/* Both ranks go on, or neither. */
static bool agreed(bool done)
{
    int all = done;

    FP(MPI_Bcast(&all, 1, MPI_INT, 1, MPI_COMM_WORLD));
    return 0 != all;
}

/* Wait until waits do that and nothing else. */
static void until_only(int which)
{
    fp_counts_t counts;

    do {
        counts = wait_once();
    } while (!agreed(0 < counts.value[which] && 0 == counts.value[COUNTERS - 1 - which]));
}

static long times_taken(void)
{
    struct rusage usage;

    CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_nivcsw;
}

/* Whether others want the cores so much that it is right to yield: they have often taken them since. */
static bool cores_are_wanted(long taken_before, double begin)
{
    const long taken = times_taken() - taken_before;

    return TAKEN < taken && TAKEN_PER_SECOND * (MPI_Wtime() - begin) < (double) taken;
}

/* The same for SPINS, unless others want the cores. */
static void until_spins(void)
{
    const long taken = times_taken();
    const double begin = MPI_Wtime();
    fp_counts_t counts;

    do {
        counts = wait_once();
    } while (
        !agreed((0 < counts.value[SPINS] && 0 == counts.value[YIELDS]) || cores_are_wanted(taken, begin)));
}

/* Who sends to itself is still one process. */
static void send_to_self(void)
{
    int value = 1, got = 0;

    FP(MPI_Sendrecv(&value, 1, MPI_INT, 0, TAG, &got, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_INT(got, value);
}

static void test_bindings(const cpu_set_t *cores)
{
    const cpu_set_t first = one_of(cores, 0), second = one_of(cores, 1);

    send_to_self();
    set_mode(AUTO);
    fp_case("auto, two ranks on one core");
    bind_to(&first);
    until_only(YIELDS);
    fp_case("auto, each on its own core");
    bind_to(0 == fp_rank ? &first : &second);
    until_spins();
    fp_case("auto, both on one core again");
    bind_to(&second);
    until_only(YIELDS);
    fp_case("auto, bound no more");
    bind_to(cores);
    until_spins();
}

/* What its user says holds, even on one core. */
static void test_told(const cpu_set_t *cores)
{
    const cpu_set_t first = one_of(cores, 0);

    fp_case("auto, told not to yield");
    set_mode(AUTO);
    bind_to(&first);
    until_only(SPINS);
    for (int i = 0; i < ROUNDS; i++) {
        const fp_counts_t counts = wait_once();

        CHECK_INT(counts.value[YIELDS], 0);
    }
    bind_to(cores);
}

/* Rank 1 waits for a lock that rank 0 has. @return how often it gave its core away */
static unsigned long wait_for_lock(MPI_Win window)
{
    unsigned long before = 0;

    if (0 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        fp_sleep_ms(LATE_MS);
    } else {
        before = yields;
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
        before = yields - before;
    }
    FP(MPI_Win_unlock(0, window));
    return before;
}

static void test_windows(void)
{
    unsigned long all = 0;
    MPI_Win window;
    void *memory;

    FP(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    for (int i = 0; i < ROUNDS; i++) {
        const int value = 0 == i % 2 ? SPIN : YIELD;
        unsigned long given;

        fp_case("window, %s", SPIN == value ? "spin" : "yield");
        set_mode(value);
        until_only(SPIN == value ? SPINS : YIELDS);
        given = wait_for_lock(window);
        CHECK(SPIN != value || 0 == given);
        all += given;
    }
    CHECK(0 == fp_rank || 0 < all); /* each time, but if rank 1 is late itself */
    FP(MPI_Win_free(&window));
}

/* Rank 1 receives what rank 0 has sent some time ago. @return how often it gave its core away */
static unsigned long receive_late(void)
{
    unsigned long before;
    int value = 0;

    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        FP(MPI_Send(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        return 0;
    }
    fp_sleep_ms(LATE_MS);
    before = yields;
    FP(MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return yields - before;
}

/* Rank 0 begins a nonblocking collective when rank 1 has done so some time ago. What rank 0 does when that
 * message has come, to reduce and to send, ends its part.  @return how often it gave its core away */
static unsigned long reduce_late(void)
{
    const int values[2] = {1, 2};
    unsigned long before;
    MPI_Request request;
    int sum = 0;

    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        fp_sleep_ms(LATE_MS);
    }
    before = yields;
    FP(MPI_Ireduce_scatter_block(values, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(sum, 2 * values[fp_rank]);
    return yields - before;
}

static void test_there(unsigned long (*late)(void), int rank)
{
    int kept = 0;

    fp_case("yield, and the message is there");
    set_mode(YIELD);
    until_only(YIELDS);
    CHECK(0 == fp_rank || 0 < yields); /* they are counted */
    for (int i = 0; i < ROUNDS; i++) {
        kept += 0 == late();
    }
    CHECK(rank != fp_rank || ROUNDS / KEPT_PART <= kept); /* now and then the other one is later still */
}

int main(int argc, char **argv)
{
    cpu_set_t cores;

    fp_init(&argc, &argv, 2);
    memset(&cores, -1, sizeof(cores)); /* mpirun may have bound us */
    bind_to(&cores);
    CHECK_INT(sched_getaffinity(0, sizeof(cores), &cores), 0);
    if (2 > CPU_COUNT(&cores)) {
        fp_skip("needs two cores");
    }
    fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    open_mode();
    fp_case("spin");
    set_mode(SPIN);
    until_only(SPINS);
    fp_case("yield");
    set_mode(YIELD);
    until_only(YIELDS);
    fp_case("spin again");
    set_mode(SPIN);
    until_only(SPINS);
    if (1 < argc && 0 == strcmp("windows", argv[1])) {
        test_windows();
    } else if (1 < argc && 0 == strcmp("there", argv[1])) {
        test_there(receive_late, 1);
    } else if (1 < argc && 0 == strcmp("collective", argv[1])) {
        test_there(reduce_late, 0);
    } else if (1 < argc) {
        test_told(&cores);
    } else {
        test_bindings(&cores);
    }
    FP(MPI_T_cvar_handle_free(&mode));
    fp_counters_close();
    return fp_finish();
}
