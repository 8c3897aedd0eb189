/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Messages on an intercommunicator that their receiver has not heard of yet, whose id meant another
 * communicator there before; and messages of that other one, cancelled while the next one with its id is
 * being made. */

#include "ompi_config.h"

#include "fastpath_ompi_compat.h"

#include "ompi/mca/pml/pml.h"

#include "support/fp_test.h"

enum { TAG = 113, COUNT = 4 };

/* Rank 1 tells its PML of an intercommunicator only when rank 0 says so. */
static struct {
    int (*add_comm)(ompi_communicator_t *comm);
    bool armed;
    bool ask; /* rank 0 waits for us to come that far */
} hook;

static int announce_later(ompi_communicator_t *comm)
{
    if (hook.armed && OMPI_COMM_IS_INTER(comm)) {
        hook.armed = false;
        if (hook.ask) {
            fp_signal(0, MPI_COMM_WORLD);
        }
        fp_await(0, MPI_COMM_WORLD);
    }
    return hook.add_comm(comm);
}

static void arm(bool ask)
{
    hook.armed = 1 == fp_rank;
    hook.ask = ask;
}

static MPI_Comm meet(int other)
{
    MPI_Comm inter;

    FP(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, TAG, &inter));
    return inter;
}

static void nothing_waits(MPI_Comm comm)
{
    int flag;

    for (int i = 0; i < 100; i++) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
}

/* Of COUNT messages those whose number has a bit in WHICH are cancelled. Where the receiver may be behind
 * the sender, it is. */
static void before_known(const fp_mode_t *mode, size_t length, unsigned which)
{
    fp_message_t sends[COUNT];
    MPI_Comm inter;

    arm(false);
    hook.armed = hook.armed && FASTPATH_EARLY_INTERCOMMS;
    inter = meet(1 - fp_rank);
    if (0 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            fp_isend(&sends[i], mode, length, 0, TAG, i, inter);
        }
        for (int i = 0; i < COUNT; i++) {
            if (which & 1u << i) {
                CHECK(fp_cancel(&sends[i].request));
                fp_free(sends[i].buffer);
            }
        }
        fp_signal(1, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            if (!(which & 1u << i)) {
                fp_wait_send(&sends[i]);
            }
        }
        fp_recv(length, 0, TAG, COUNT, inter);
    } else {
        CHECK(!hook.armed);
        if (!FASTPATH_EARLY_INTERCOMMS) {
            fp_await(0, MPI_COMM_WORLD);
        }
        for (int i = 0; i < COUNT; i++) {
            if (!(which & 1u << i)) {
                fp_recv(length, 0, TAG, i, inter);
            }
        }
        nothing_waits(inter);
        fp_send(&fp_modes[FP_STANDARD], length, 0, TAG, COUNT, inter);
    }
    FP(MPI_Comm_free(&inter));
}

/* Rank 0 sends to rank 1, which has freed their communicator and is about to have another one of that id with
 * rank 2. The message is cancelled, and leaves nothing behind there. */
static void after_free(const fp_mode_t *mode, size_t length, int before)
{
    fp_message_t send;
    MPI_Comm inter = MPI_COMM_NULL;
    uint32_t id = 0;

    if (2 != fp_rank) {
        inter = meet(1 - fp_rank);
        id = fastpath_comm_cid(inter);
        for (int i = 0; i < before; i++) {
            if (0 == fp_rank) {
                fp_send(&fp_modes[FP_STANDARD], length, 0, TAG, i, inter);
            } else {
                fp_recv(length, 0, TAG, i, inter);
            }
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_isend(&send, mode, length, 0, TAG, before, inter);
        CHECK(fp_cancel(&send.request));
        fp_free(send.buffer);
        fp_signal(1, MPI_COMM_WORLD);
    } else {
        if (1 == fp_rank) {
            FP(MPI_Comm_free(&inter));
        }
        arm(true);
        inter = meet(3 - fp_rank);
        CHECK(!hook.armed);
        if (1 == fp_rank) {
            CHECK_INT(fastpath_comm_cid(inter), id);
            nothing_waits(inter);
            fp_signal(2, MPI_COMM_WORLD);
            fp_recv(length, 0, TAG, 9, inter);
            nothing_waits(inter);
        } else {
            fp_await(1, MPI_COMM_WORLD);
            fp_send(mode, length, 0, TAG, 9, inter);
        }
    }
    FP(MPI_Comm_free(&inter));
}

/* A process sends on a new communicator at once, and everybody is ahead of somebody. */
static void crowd(int round)
{
    fp_message_t *sends, *recvs;
    MPI_Comm half, inter;
    int me, peers;

    FP(MPI_Comm_split(MPI_COMM_WORLD, fp_rank % 2, fp_rank, &half));
    FP(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - fp_rank % 2, TAG, &inter));
    FP(MPI_Comm_rank(inter, &me));
    FP(MPI_Comm_remote_size(inter, &peers));
    sends = calloc((size_t) peers, sizeof(*sends));
    recvs = calloc((size_t) peers, sizeof(*recvs));
    for (int i = 0; i < peers; i++) {
        fp_isend(&sends[i], &fp_modes[FP_STANDARD], fp_few_sizes[round % fp_few_size_count], i, TAG, 0,
                 inter);
    }
    for (int i = 0; i < peers; i++) {
        fp_irecv(&recvs[i], fp_few_sizes[round % fp_few_size_count], i, TAG, 0, inter);
    }
    for (int i = 0; i < peers; i++) {
        fp_wait_recv(&recvs[i]);
        fp_wait_send(&sends[i]);
    }
    free(sends);
    free(recvs);
    FP(MPI_Comm_free(&inter));
    FP(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    enum { ATTACHED = 16 << 20 };
    void *attached = malloc(ATTACHED);
    int size;

    fp_init(&argc, &argv, 2);
    FP(MPI_Buffer_attach(attached, ATTACHED));
    hook.add_comm = mca_pml.pml_add_comm;
    mca_pml.pml_add_comm = announce_later;
    for (int i = 0; i < fp_few_size_count; i++) {
        size_t length = fp_few_sizes[i];

        for (int m = FP_STANDARD; m <= FP_BUFFERED; m++) {
            for (unsigned which = 0; which < 1u << COUNT && 2 == fp_size; which += 3 - (which & 2)) {
                fp_case("%s of %zu bytes, before the communicator is known, mask %u", fp_modes[m].name,
                        length, which);
                before_known(&fp_modes[m], length, which);
            }
            for (int before = 0; before < 3 && 3 == fp_size; before++) {
                fp_case("%s of %zu bytes, after %d others, communicator freed", fp_modes[m].name, length,
                        before);
                after_free(&fp_modes[m], length, before);
            }
        }
    }
    for (int round = 0; round < 60; round++) {
        fp_case("a crowd, round %d", round);
        crowd(round);
    }
    mca_pml.pml_add_comm = hook.add_comm;
    FP(MPI_Buffer_detach(&attached, &size));
    free(attached);
    return fp_finish();
}
