/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_THREAD_MULTIPLE: threads with a window each, threads in one window, threads that make and free windows
 * at a time, threads that wait for requests or messages meanwhile, threads that flush or lock while others go
 * on.
 *
 * usage: rma_threads [sm | locks]
 *     sm     only memory that MPI allocates
 *     locks  locks and gets of different threads, and locks of two windows; 3 or 4 ranks on several hosts */

#define _GNU_SOURCE

#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/fp_counters.h"

enum { THREADS = 4, ROUNDS = 30, NUMBERS = 512, REGIONS = 1000, REGION = 16 };

static MPI_Comm comms[THREADS];
static MPI_Win shared;
static long *shared_memory;
static bool only_allocated;

static MPI_Win make(MPI_Comm comm, int number, long **memory)
{
    const MPI_Aint bytes = NUMBERS * sizeof(long);
    MPI_Win win;

    if (only_allocated || 0 == number % 2) {
        FP(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, memory, &win));
    } else {
        *memory = malloc((size_t) bytes);
        FP(MPI_Win_create(*memory, bytes, sizeof(long), MPI_INFO_NULL, comm, &win));
    }
    memset(*memory, 0, (size_t) bytes);
    return win;
}

static void drop(MPI_Win *win, int number, long *memory)
{
    FP(MPI_Win_free(win));
    if (!only_allocated && 0 != number % 2) {
        free(memory);
    }
}

/* A window of its own for each thread, used in all ways, and made anew now and then. */
static void own_window(int index)
{
    const int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;

    for (int round = 0; round < ROUNDS / 6; round++) {
        long *memory, value, got;
        MPI_Win win = make(comms[index], round + index, &memory);

        for (int i = 0; i < 6; i++) {
            fp_case("thread %d, own window, round %d, %d", index, round, i);
            value = 1000 * round + 10 * i + fp_rank;
            FP(MPI_Win_fence(0, win));
            FP(MPI_Put(&value, 1, MPI_LONG, next, i, 1, MPI_LONG, win));
            FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
            CHECK_INT(memory[i], 1000 * round + 10 * i + before);
            FP(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
            FP(MPI_Fetch_and_op(&value, &got, MPI_LONG, next, 100, MPI_SUM, win));
            FP(MPI_Win_unlock(next, win));
        }
        drop(&win, round + index, memory);
    }
}

/* All threads in one lock_all epoch: each has a part of the memory, and all count at one place. */
static void one_window(int index)
{
    const long one = 1;
    long mine[20], theirs[20], got;

    for (int round = 0; round < ROUNDS; round++) {
        const int target = (fp_rank + round) % fp_size, at = 10 + 20 * (fp_rank * THREADS + index);
        MPI_Request request;

        fp_case("thread %d, common window, round %d", index, round);
        for (int i = 0; i < 20; i++) {
            mine[i] = 100 * round + i + index;
        }
        FP(MPI_Put(mine, 20, MPI_LONG, target, at, 20, MPI_LONG, shared));
        if (index % 2) {
            FP(MPI_Win_flush(target, shared));
        } else {
            FP(MPI_Win_flush_all(shared));
        }
        FP(MPI_Rget(theirs, 20, MPI_LONG, target, at, 20, MPI_LONG, shared, &request));
        FP(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, shared));
        FP(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, shared));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(0 == memcmp(mine, theirs, sizeof(mine)));
        FP(MPI_Win_flush_local(0, shared));
        CHECK(0 <= got && got < 2L * THREADS * ROUNDS * fp_size);
        FP(MPI_Win_flush(0, shared));
    }
}

/* One thread sends messages around while the others work in the window. */
static void window_and_messages(int index)
{
    if (0 != index) {
        one_window(index);
        return;
    }
    for (int round = 0; round < ROUNDS; round++) {
        const int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
        long sent = round, got = -1;

        fp_case("messages, round %d", round);
        FP(MPI_Sendrecv(&sent, 1, MPI_LONG, next, 5, &got, 1, MPI_LONG, before, 5, comms[0],
                        MPI_STATUS_IGNORE));
        CHECK_INT(got, round);
    }
}

static void in_one_window(void (*body)(int), int threads)
{
    fp_case("common window");
    shared = make(MPI_COMM_WORLD, 1, &shared_memory);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, shared));
    fp_run_threads(THREADS, body);
    FP(MPI_Win_unlock_all(shared));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT((0 == fp_rank) ? shared_memory[0] : 2L * threads * ROUNDS * fp_size,
              2L * threads * ROUNDS * fp_size);
    drop(&shared, 1, shared_memory);
}

static fp_away_t away;
static long values[4] = {7, 8, 0, 0};

/* The first thread waits for what it has done when the second does something more, which nobody flushes
 * before the first one is ready. */
static void flush_beside(int index)
{
    fp_case("thread %d: flush beside puts of another thread", index);
    if (0 == index) {
        FP(MPI_Put(&values[0], 1, MPI_LONG, 1, 10, 1, MPI_LONG, shared));
        FP(MPI_Win_flush(1, shared));
    } else {
        fp_sleep_ms(100); /* most likely the other one waits by now */
        FP(MPI_Put(&values[1], 1, MPI_LONG, 1, 11, 1, MPI_LONG, shared));
        FP(MPI_Win_flush_local(1, shared));
        FP(MPI_Put(&values[1], 1, MPI_LONG, 1, 12, 1, MPI_LONG, shared));
        fp_come_back(&away);
    }
}

static void get_beside(int index)
{
    fp_case("thread %d: flush_local beside gets of another thread", index);
    if (0 == index) {
        FP(MPI_Get(&values[2], 1, MPI_LONG, 1, 10, 1, MPI_LONG, shared));
        FP(MPI_Win_flush_local_all(shared));
        CHECK_INT(values[2], 7);
    } else {
        fp_sleep_ms(100);
        FP(MPI_Get(&values[3], 1, MPI_LONG, 1, 11, 1, MPI_LONG, shared));
        fp_come_back(&away);
    }
}

enum { LONG_GET = 4 << 20 }; /* numbers */
static long *long_get;
static bool flushed_first;

/* The first thread waits for what it has done, not for the data of a get that the second one begins later. */
static void long_get_beside(int index)
{
    fp_case("thread %d: flush beside a long get of another thread", index);
    if (0 == index) {
        FP(MPI_Put(&values[0], 1, MPI_LONG, 1, 0, 1, MPI_LONG, shared));
        FP(MPI_Win_flush(1, shared));
        flushed_first = 0 == ((volatile long *) long_get)[LONG_GET - 1];
    } else if (1 == index) {
        fp_sleep_ms(100); /* most likely the other one waits by now */
        FP(MPI_Get(long_get, LONG_GET, MPI_LONG, 1, 0, LONG_GET, MPI_LONG, shared));
        FP(MPI_Win_flush_local(1, shared));
    } else {
        fp_sleep_ms(200);
        fp_come_back(&away);
    }
}

/* The first thread may not get a processor for as long as the get takes, but not each time. */
static void flush_beside_long_get(void)
{
    FP(MPI_Win_allocate(LONG_GET * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shared_memory,
                        &shared));
    for (int i = 0; i < LONG_GET; i++) {
        shared_memory[i] = 7;
    }
    long_get = malloc(LONG_GET * sizeof(long));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, shared));
    for (int i = 0; i < 20 && !flushed_first; i++) {
        memset(long_get, 0, LONG_GET * sizeof(long));
        fp_leave(&away, 1, 22);
        if (0 == fp_rank) {
            fp_run_threads(3, long_get_beside);
            CHECK_INT(long_get[LONG_GET - 1], 7);
        }
        FP(MPI_Bcast(&flushed_first, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD));
    }
    CHECK(flushed_first);
    FP(MPI_Win_unlock_all(shared));
    FP(MPI_Win_free(&shared));
    free(long_get);
}

/* What the kernel copies takes its time where the test says so. */
static atomic_bool slow, writing, written, no_copy;

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                          const struct iovec *there, unsigned long theres, unsigned long flags)
{
    const bool delayed = slow;
    ssize_t bytes;

    writing = delayed;
    if (delayed) {
        fp_sleep_ms(100);
    }
    bytes = syscall(SYS_process_vm_writev, pid, here, heres, there, theres, flags);
    written = delayed;
    return bytes;
}

/* Both threads flush what the first one has put. */
static void flush_together(int index)
{
    fp_case("thread %d: flush while another thread makes the put", index);
    if (0 == index) {
        FP(MPI_Win_flush(1, shared));
        no_copy = true;
    } else {
        while (!writing && !no_copy) {
            fp_sleep_ms(1);
        }
        FP(MPI_Win_flush(1, shared));
        CHECK(written || !writing);
    }
}

static void flushes_of_threads(void)
{
    const long put[4] = {1, 2, 3, 4};

    shared = make(MPI_COMM_WORLD, 1, &shared_memory);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, shared));
    if (0 == fp_rank) {
        FP(MPI_Put(put, 4, MPI_LONG, 1, 10, 4, MPI_LONG, shared));
        slow = true;
        fp_run_threads(2, flush_together);
        slow = false;
    }
    FP(MPI_Win_unlock_all(shared));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == fp_rank) {
        CHECK_INT(shared_memory[13], 4);
    }
    drop(&shared, 1, shared_memory);
}

/* The first thread's second lock asks for its first one, which comes when the other thread has given it back
 * already. */
static void lock_beside(int index)
{
    fp_case("thread %d: lock beside unlock by another thread", index);
    if (0 == index) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, shared));
        FP(MPI_Send(NULL, 0, MPI_INT, 0, 20, comms[0]));
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, shared));
        FP(MPI_Win_unlock(0, shared));
    } else {
        FP(MPI_Recv(NULL, 0, MPI_INT, 0, 20, comms[0], MPI_STATUS_IGNORE));
        fp_sleep_ms(100); /* most likely the other one waits by now */
        FP(MPI_Win_unlock(1, shared));
        fp_come_back(&away);
    }
}

static void lock_of_threads(void)
{
    shared = make(MPI_COMM_WORLD, 1, &shared_memory);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_leave(&away, 1, 21);
    if (0 == fp_rank) {
        fp_run_threads(2, lock_beside);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    drop(&shared, 1, shared_memory);
}

/* Rank 1 is outside MPI meanwhile. */
static void beside_others(void)
{
    shared = make(MPI_COMM_WORLD, 1, &shared_memory);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, shared));
    for (int i = 0; i < 2; i++) {
        fp_leave(&away, 1, 18);
        if (0 == fp_rank) {
            fp_run_threads(2, 0 == i ? flush_beside : get_beside);
        }
    }
    FP(MPI_Win_unlock_all(shared));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        CHECK_INT(values[3], 8);
    } else if (1 == fp_rank) {
        CHECK_INT(shared_memory[12], 8);
    }
    drop(&shared, 1, shared_memory);
}

enum { MANY_GETS = 5000 };
static long got_many[MANY_GETS];

/* Rank 1 keeps its lock until the second thread is done, and the first one waits for that. */
static void lock_apart(int index)
{
    const long value = 3;

    fp_case("thread %d: a lock beside another thread's that is not to be had", index);
    if (0 == index) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, shared));
        FP(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, shared));
        FP(MPI_Win_flush(1, shared));
        FP(MPI_Win_unlock(1, shared));
        return;
    }
    fp_sleep_ms(100);
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, shared));
    FP(MPI_Put(&value, 1, MPI_LONG, 2, 0, 1, MPI_LONG, shared));
    FP(MPI_Win_unlock(2, shared));
    FP(MPI_Send(NULL, 0, MPI_INT, 1, 22, comms[0]));
}

/* The same with more gets than may be under way, and one of the second thread's from another rank. */
static void get_apart(int index)
{
    long value = 0;

    fp_case("thread %d: a get beside many of another thread's", index);
    if (0 == index) {
        fp_sleep_ms(100);
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, shared));
        for (int i = 0; i < MANY_GETS; i++) {
            FP(MPI_Get(&got_many[i], 1, MPI_LONG, 1, 0, 1, MPI_LONG, shared));
        }
        FP(MPI_Win_unlock(1, shared));
        CHECK_INT(got_many[MANY_GETS - 1], 3);
        return;
    }
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, shared));
    FP(MPI_Get(&value, 1, MPI_LONG, 2, 0, 1, MPI_LONG, shared));
    FP(MPI_Win_flush(2, shared));
    fp_sleep_ms(300);
    FP(MPI_Get(&value, 1, MPI_LONG, 2, 0, 1, MPI_LONG, shared));
    FP(MPI_Win_unlock(2, shared));
    CHECK_INT(value, 3);
    FP(MPI_Send(NULL, 0, MPI_INT, 1, 22, comms[0]));
}

static void threads_apart(void (*body)(int index))
{
    if (1 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, shared));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        fp_run_threads(2, body);
    } else if (1 == fp_rank) {
        FP(MPI_Recv(NULL, 0, MPI_INT, 0, 22, comms[0], MPI_STATUS_IGNORE));
        FP(MPI_Win_unlock(1, shared));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Ranks 0 and 2 lock 1 in one window and then 3 in the other, both in this order. */
static void two_windows(void)
{
    long *memory, value = 1;
    MPI_Win other;

    fp_case("locks in two windows");
    FP(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &other));
    for (int i = 0; i < 20 * ROUNDS && 0 == fp_rank % 2; i++) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, shared));
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, other));
        FP(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, shared));
        FP(MPI_Put(&value, 1, MPI_LONG, 3, 0, 1, MPI_LONG, other));
        if (0 == fp_rank) {
            FP(MPI_Win_flush(3, other));
        } else {
            FP(MPI_Win_flush(1, shared));
        }
        FP(MPI_Win_unlock(3, other));
        FP(MPI_Win_unlock(1, shared));
    }
    FP(MPI_Win_free(&other));
}

static void locks_apart(void)
{
    shared = make(MPI_COMM_WORLD, 0, &shared_memory);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    threads_apart(lock_apart);
    threads_apart(get_apart);
    if (3 < fp_size) {
        two_windows();
    }
    drop(&shared, 0, shared_memory);
}

/* The first thread's get has to wait before it is sent, its datatype's description does not, and the second
 * thread uses more types meanwhile than a target knows at a time. */
static void many_types(int index)
{
    static long first;
    MPI_Datatype type;

    fp_case("thread %d, many types", index);
    if (0 == index) {
        FP(MPI_Get(&first, 1, MPI_LONG, 1, 0, 1, MPI_LONG, shared));
        FP(MPI_Type_vector(2, 1, 2, MPI_LONG, &type));
        FP(MPI_Type_commit(&type));
        FP(MPI_Get(&values[2], 2, MPI_LONG, 1, 1, 1, type, shared));
        FP(MPI_Type_free(&type));
        return;
    }
    fp_sleep_ms(100);
    for (int i = 0; i < 40; i++) {
        FP(MPI_Type_vector(2, 1, 3 + i, MPI_LONG, &type));
        FP(MPI_Type_commit(&type));
        FP(MPI_Put(values, 2, MPI_LONG, 1, 100, 1, type, shared));
        FP(MPI_Type_free(&type));
    }
    fp_come_back(&away);
}

static void types_of_threads(void)
{
    MPI_Info info;

    FP(MPI_Info_create(&info));
    FP(MPI_Info_set(info, "fastpath_max_pending", "1"));
    FP(MPI_Win_allocate(NUMBERS * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &shared_memory, &shared));
    FP(MPI_Win_set_errhandler(shared, MPI_ERRORS_RETURN));
    FP(MPI_Info_free(&info));
    for (int i = 0; i < NUMBERS; i++) {
        shared_memory[i] = i;
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, shared));
    fp_leave(&away, 1, 19);
    if (0 == fp_rank) {
        fp_run_threads(2, many_types);
    }
    FP(MPI_Win_unlock_all(shared));
    if (0 == fp_rank) {
        CHECK_INT(values[2], 1);
        CHECK_INT(values[3], 3);
    }
    FP(MPI_Win_free(&shared));
}

static MPI_Win dynamic;
static char *regions;

/* One thread works in memory that stays attached while another one attaches and detaches what lies before. */
static void attach_beside(int index)
{
    char *const stays = regions + REGIONS * REGION;
    MPI_Aint at;

    fp_case("thread %d, attach", index);
    FP(MPI_Get_address(stays, &at));
    for (int round = 0; round < 20 && 0 == index; round++) {
        for (int i = REGIONS - 1; 0 <= i; i--) {
            FP(MPI_Win_attach(dynamic, regions + i * REGION, REGION / 2));
        }
        for (int i = 0; i < REGIONS; i++) {
            FP(MPI_Win_detach(dynamic, regions + i * REGION));
        }
    }
    for (int i = 0; i < 100000 && 1 == index; i++) {
        FP(MPI_Put(values, 1, MPI_LONG, fp_rank, at, 1, MPI_LONG, dynamic));
    }
}

static void attach_of_threads(void)
{
    regions = calloc(REGIONS + 1, REGION);
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    FP(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    FP(MPI_Win_attach(dynamic, regions + REGIONS * REGION, REGION));
    FP(MPI_Win_lock(MPI_LOCK_SHARED, fp_rank, 0, dynamic));
    fp_run_threads(2, attach_beside);
    FP(MPI_Win_unlock(fp_rank, dynamic));
    FP(MPI_Win_detach(dynamic, regions + REGIONS * REGION));
    FP(MPI_Win_free(&dynamic));
    free(regions);
}

int main(int argc, char **argv)
{
    if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    if (10 + 20 * fp_size * THREADS > NUMBERS) {
        fp_skip("it has room for %d ranks", (NUMBERS - 10) / 20 / THREADS);
    }
    only_allocated = 1 < argc;
    if (1 < argc && 0 == strcmp(argv[1], "locks")) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
        locks_apart();
        FP(MPI_Comm_free(&comms[0]));
        return fp_finish();
    }
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    }
    fp_run_threads(THREADS, own_window);
    in_one_window(one_window, THREADS);
    in_one_window(window_and_messages, THREADS - 1);
    beside_others();
    flush_beside_long_get();
    flushes_of_threads();
    lock_of_threads();
    types_of_threads();
    attach_of_threads();
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_free(&comms[i]));
    }
    return fp_finish();
}
