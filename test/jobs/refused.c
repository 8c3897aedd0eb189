/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * refused MAY...: what the kernel lets each rank do with the memory of the others, the last one for all
 * further ranks: "rw" read and write, "r" read, "-" nothing.  Everybody sends messages of all lengths to
 * everybody, to receivers that wait and that are late, to and fro and both ways at once; and the counters say
 * what has been found out.
 */

#include "support/fp_counters.h"

enum {
    TAG = 7,
    TURN_TAG,
    LEAST_HELPED = 1 << 14, /* pml_fastpath_help_limit */
    MOST_BUFFERS =
        1 << 18 /* bytes that may leave in buffers, and do unless that is slow or the receiver has no core */
};

static const char *const names[] = {"pml_fastpath_messages_helped", "pml_fastpath_messages_streamed"};

static char **may;
static int num_may;

static bool can(int rank, char what)
{
    return NULL != strchr(may[rank < num_may ? rank : num_may - 1], what);
}

/* What has been found out when the processes met. */
static void check_found(const char *name, bool may)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long value = 0;
    int index, elements;

    fp_case("%s", name);
    FP(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index));
    FP(MPI_T_pvar_session_create(&session));
    FP(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &elements));
    FP(MPI_T_pvar_read(session, handle, &value));
    CHECK_INT(value, may ? fp_size - 1 : 0);
    FP(MPI_T_pvar_handle_free(session, &handle));
    FP(MPI_T_pvar_session_free(&session));
}

static void check_all_found(void)
{
    check_found("btl_fastsm_peers_read", can(fp_rank, 'r'));
    check_found("btl_fastsm_peers_not_read", !can(fp_rank, 'r'));
    check_found("btl_fastsm_peers_written", can(fp_rank, 'w'));
    check_found("btl_fastsm_peers_not_written", !can(fp_rank, 'w'));
}

/* One message, whose receiver comes late, or is there and says so. */
static void one_way(int from, int to, size_t length, bool late)
{
    const unsigned long before = fp_counter(0), before_both = before + fp_counter(1);

    fp_case("%zu bytes from %d to %d%s", length, from, to, late ? ", which is late" : "");
    if (fp_rank == from) {
        char *buffer = fp_alloc_filled(length, length + (size_t) to);

        FP(MPI_Recv(NULL, 0, MPI_BYTE, to, TURN_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Send(buffer, (int) length, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
        fp_free(buffer);
    } else if (fp_rank == to) {
        char *buffer = fp_alloc(length);
        unsigned long helped, both; /* the sender has written a part, or that or streamed it */

        FP(MPI_Send(NULL, 0, MPI_BYTE, from, TURN_TAG, MPI_COMM_WORLD));
        if (late) {
            fp_sleep_ms(20);
        }
        FP(MPI_Recv(buffer, (int) length, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_DATA(buffer, length, length + (size_t) to);
        helped = fp_counter(0) - before;
        both = fp_counter(0) + fp_counter(1) - before_both;
        CHECK(helped <= (LEAST_HELPED <= length && can(from, 'w') ? 1 : 0));
        CHECK(both <= (LEAST_HELPED <= length && (can(from, 'w') || can(to, 'r')) ? 1 : 0));
        CHECK(both >= (MOST_BUFFERS < length && can(from, 'w') ? 1 : 0));
        fp_free(buffer);
    }
}

/* Several messages at once, both ways, between everybody. */
static void all_at_once(size_t length)
{
    enum { EACH = 3, MOST = 8 };
    MPI_Request requests[2 * EACH * MOST];
    char *out[EACH * MOST], *in[EACH * MOST];
    int count = 0;

    fp_case("%zu bytes, everybody at once", length);
    for (int peer = 0; peer < fp_size; ++peer) {
        for (int i = 0; peer != fp_rank && i < EACH; ++i, ++count) {
            out[count] = fp_alloc_filled(length, (size_t) (1000 * fp_rank + i));
            in[count] = fp_alloc(length);
            FP(MPI_Irecv(in[count], (int) length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[2 * count]));
            FP(MPI_Isend(out[count], (int) length, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                         &requests[2 * count + 1]));
        }
    }
    FP(MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE));
    count = 0;
    for (int peer = 0; peer < fp_size; ++peer) {
        for (int i = 0; peer != fp_rank && i < EACH; ++i, ++count) {
            CHECK_DATA(in[count], length, (size_t) (1000 * peer + i));
            fp_free(in[count]);
            fp_free(out[count]);
        }
    }
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {0,       4000,         20000, 70000, MOST_BUFFERS, MOST_BUFFERS + 1,
                                     1 << 20, (4 << 20) + 3};

    fp_init(&argc, &argv, 2);
    may = argv + 1;
    num_may = argc - 1;
    CHECK(0 < num_may);
    fp_counters_open(MPI_THREAD_SINGLE, names, 2);
    check_all_found();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
        for (int from = 0; from < fp_size; ++from) {
            for (int to = 0; to < fp_size; ++to) {
                if (from != to) {
                    one_way(from, to, lengths[i], false);
                    one_way(from, to, lengths[i], true);
                }
            }
        }
        all_at_once(lengths[i]);
    }
    check_all_found();
    fp_counters_close();
    return fp_finish();
}
