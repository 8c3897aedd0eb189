/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* How many messages an epoch is, between two processes over tcp: by the segments with data that the kernel
 * counts for the sockets of rank 0 (TCP_INFO), sent and received, and by the counters of osc/fastpath in both
 * ranks.
 *
 * usage: rma_messages [links | stock]        links: several links, which a message may overtake an operation
 * on; stock: print what other components need */

#include "support/fp_counters.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <sys/socket.h>
#include <linux/tcp.h>

enum { NUMBERS = 64, EPOCHS = 100, MOST_SOCKETS = 64 };
enum { PACKETS, REPLIES, ACKS, COUNTERS };

static const char *const names[COUNTERS] = {"osc_fastpath_packets_sent", "osc_fastpath_replies_sent",
                                            "osc_fastpath_acks_sent"};
static bool links, stock;
static MPI_Win win;
static long data[NUMBERS], result[NUMBERS];
static MPI_Group other;

/* ---------------------------------------------------------------------- epochs */

enum { TO = 1 }; /* the target of all of them */

static void put(int count)
{
    for (int i = 0; i < count; i++) {
        FP(MPI_Put(&data[i], 1, MPI_LONG, TO, i, 1, MPI_LONG, win));
    }
}

static void get(void)
{
    FP(MPI_Get(result, 1, MPI_LONG, TO, 0, 1, MPI_LONG, win));
}

static void lock(void)
{
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TO, 0, win));
}

static void unlock(void)
{
    FP(MPI_Win_unlock(TO, win));
}

static void flush(void)
{
    FP(MPI_Win_flush(TO, win));
}

static void lock_unlock(void)
{
    lock();
    unlock();
}

static void lock_put_unlock(void)
{
    lock();
    put(1);
    unlock();
}

static void shared_put_unlock(void)
{
    FP(MPI_Win_lock(MPI_LOCK_SHARED, TO, 0, win));
    put(1);
    unlock();
}

static void lock_get_unlock(void)
{
    lock();
    get();
    unlock();
}

static void lock_put_get_unlock(void)
{
    lock();
    put(1);
    get();
    unlock();
}

static void lock_4put_unlock(void)
{
    lock();
    put(4);
    unlock();
}

static void lock_32put_unlock(void)
{
    lock();
    put(32);
    unlock();
}

static void lock_all_unlock_all(void)
{
    FP(MPI_Win_lock_all(0, win));
    FP(MPI_Win_unlock_all(win));
}

static void lock_all_put_unlock_all(void)
{
    FP(MPI_Win_lock_all(0, win));
    put(1);
    FP(MPI_Win_unlock_all(win));
}

static void put_flush(void)
{
    put(1);
    flush();
}

static void put32_flush(void)
{
    put(32);
    flush();
}

static void put_get_flush(void)
{
    put(1);
    get();
    flush();
}

static void put_flush_local(void)
{
    put(1);
    FP(MPI_Win_flush_local(TO, win));
}

static void fetch_flush(void)
{
    FP(MPI_Fetch_and_op(data, result, MPI_LONG, TO, 3, MPI_SUM, win));
    flush();
}

static void swap_flush(void)
{
    FP(MPI_Compare_and_swap(data, &data[1], result, MPI_LONG, TO, 3, win));
    flush();
}

static void accumulate_flush(void)
{
    FP(MPI_Accumulate(data, 1, MPI_LONG, TO, 3, 1, MPI_LONG, MPI_SUM, win));
    flush();
}

static void get_accumulate_flush(void)
{
    FP(MPI_Get_accumulate(data, 1, MPI_LONG, result, 1, MPI_LONG, TO, 3, 1, MPI_LONG, MPI_SUM, win));
    flush();
}

static void fence_put(void)
{
    if (0 == fp_rank) {
        put(1);
    }
    FP(MPI_Win_fence(0, win));
}

static void post_start_put(void)
{
    if (0 == fp_rank) {
        FP(MPI_Win_start(other, 0, win));
        put(1);
        FP(MPI_Win_complete(win));
    } else {
        FP(MPI_Win_post(other, 0, win));
        FP(MPI_Win_wait(win));
    }
}

/* What is held while the epochs run. */
typedef enum { NOTHING, EXCLUSIVE, ALL, ACTIVE } held_t;

static const struct {
    const char *name;
    held_t held;
    void (*run)(void);
    double most;       /* messages of an epoch, sent and received by rank 0 */
    double over_links; /* the same with several links, where it differs */
} epochs[] = {{"lock, unlock", NOTHING, lock_unlock, 0, 0},
              {"lock, put, unlock", NOTHING, lock_put_unlock, 2, 2},
              {"lock shared, put, unlock", NOTHING, shared_put_unlock, 2, 2},
              {"lock, get, unlock", NOTHING, lock_get_unlock, 2, 2},
              {"lock, put, get, unlock", NOTHING, lock_put_get_unlock, 2, 2},
              {"lock, 4 puts, unlock", NOTHING, lock_4put_unlock, 2, 2},
              {"lock, 32 puts, unlock", NOTHING, lock_32put_unlock, 3, 3},
              {"lock_all, unlock_all", NOTHING, lock_all_unlock_all, 0, 0},
              {"lock_all, put, unlock_all", NOTHING, lock_all_put_unlock_all, 2, 2},
              {"in an exclusive lock: put, flush", EXCLUSIVE, put_flush, 1, 2},
              {"in an exclusive lock: 32 puts, flush", EXCLUSIVE, put32_flush, 1, 2},
              {"in an exclusive lock: flush", EXCLUSIVE, flush, 0, 0},
              {"in lock_all: put, flush", ALL, put_flush, 2, 2},
              {"in lock_all: 32 puts, flush", ALL, put32_flush, 2, 2},
              {"in lock_all: put, get, flush", ALL, put_get_flush, 2, 2},
              {"in lock_all: put, flush_local", ALL, put_flush_local, 1, 1},
              {"in lock_all: flush", ALL, flush, 0, 0},
              {"in lock_all: fetch_and_op, flush", ALL, fetch_flush, 2, 2},
              {"in lock_all: compare_and_swap, flush", ALL, swap_flush, 2, 2},
              {"in lock_all: accumulate, flush", ALL, accumulate_flush, 2, 2},
              {"in lock_all: get_accumulate, flush", ALL, get_accumulate_flush, 2, 2},
              {"fence, put", ACTIVE, fence_put, 3, 3},
              {"post, start, put, complete, wait", ACTIVE, post_start_put, 2, 2}};

/* -------------------------------------------------------------------- counting */

/* A sum over all sockets that are connected: segments with data, sent and received, or those that were sent
 * again. */
static unsigned long of_sockets(bool all)
{
    unsigned long sum = 0;
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;

    while (NULL != (entry = readdir(directory))) {
        struct tcp_info info = {0};
        socklen_t length = sizeof(info);

        if (0 == getsockopt(atoi(entry->d_name), IPPROTO_TCP, TCP_INFO, &info, &length)
            && 1 == info.tcpi_state) {
            sum += all ? info.tcpi_data_segs_out + info.tcpi_data_segs_in : info.tcpi_total_retrans;
        }
    }
    closedir(directory);
    return sum;
}

static void begin(held_t held)
{
    if (0 == fp_rank && EXCLUSIVE == held) {
        lock();
    } else if (0 == fp_rank && ALL == held) {
        FP(MPI_Win_lock_all(0, win));
    } else if (ACTIVE == held) {
        FP(MPI_Win_fence(0, win));
    }
}

static void end(held_t held)
{
    if (0 == fp_rank && EXCLUSIVE == held) {
        unlock();
    } else if (0 == fp_rank && ALL == held) {
        FP(MPI_Win_unlock_all(win));
    }
}

/* Some epochs, from which rank 1 is away in a receive unless it takes part; returns messages of an epoch as
 * rank 0's sockets have them. One that either side has sent again, because an answer took long, counts once.
 */
static double count(held_t held, void (*run)(void), fp_counts_t *counts)
{
    unsigned long before = 0, after = 0, again, all = 0;
    fp_counts_t start = {0};

    begin(held);
    if (0 == fp_rank && ACTIVE != held) {
        run(); /* once, so that what the first one needs is there */
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    start = stock ? start : fp_counters_now();
    again = of_sockets(false);
    if (0 == fp_rank || ACTIVE == held) {
        before = of_sockets(true);
        for (int i = 0; i < EPOCHS; i++) {
            run();
        }
        after = of_sockets(true);
    }
    if (0 == fp_rank) {
        fp_signal(1, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
    }
    if (!stock) {
        *counts = fp_counters_since(&start);
    }
    again = of_sockets(false) - again;
    end(held);
    FP(MPI_Reduce(&again, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    return ((double) (after - before) - (double) all) / EPOCHS;
}

static void try_one(int number)
{
    const held_t held = epochs[number].held;
    const double most = links ? epochs[number].over_links : epochs[number].most;
    fp_counts_t mine = {{0}};
    unsigned long all = 0, sum;
    double seen;

    fp_case("%s", epochs[number].name);
    seen = count(held, epochs[number].run, &mine);
    sum = mine.value[PACKETS] + mine.value[REPLIES] + mine.value[ACKS];
    FP(MPI_Reduce(&sum, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (0 != fp_rank) {
        return;
    }
    printf("# %-40s %6.2f messages, %6.2f by counters, %.0f at most\n", epochs[number].name, seen,
           (double) all / EPOCHS, most);
    fflush(stdout);
    if (stock) {
        return;
    }
    fp_check(seen <= most + 0.1, __FILE__, __LINE__, "%.2f messages by TCP_INFO and not %.0f", seen, most);
    fp_check((double) all / EPOCHS <= most + 0.1, __FILE__, __LINE__,
             "%.2f messages by counters and not %.0f", (double) all / EPOCHS, most);
    /* What fences send besides is not the component's own. */
    fp_check(ACTIVE == held || seen <= (double) all / EPOCHS + 0.1, __FILE__, __LINE__,
             "%.2f messages, of which the counters have %.2f", seen, (double) all / EPOCHS);
}

int main(int argc, char **argv)
{
    long *memory;
    MPI_Group all;

    fp_init(&argc, &argv, 2);
    if (2 != fp_size) {
        fp_skip("it is for two ranks");
    }
    links = 1 < argc && 0 == strcmp(argv[1], "links");
    stock = 1 < argc && 0 == strcmp(argv[1], "stock");
    if (!stock) {
        fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    }
    memory = fp_alloc(NUMBERS * sizeof(long));
    FP(MPI_Win_create(memory, NUMBERS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Comm_group(MPI_COMM_WORLD, &all));
    FP(MPI_Group_incl(all, 1, &(int){1 - fp_rank}, &other));
    for (size_t i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++) {
        try_one((int) i);
    }
    FP(MPI_Group_free(&all));
    FP(MPI_Group_free(&other));
    FP(MPI_Win_free(&win));
    fp_free(memory);
    if (!stock) {
        fp_counters_close();
    }
    return fp_finish();
}
