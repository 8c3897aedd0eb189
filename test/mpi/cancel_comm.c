/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Cancel of sends whose receiver does not have the communicator: it is not
 * known there yet, has been freed, or its id means another one by now. The
 * answer comes at once, and nothing of the message is left. */

#include "ompi_config.h"

#include "fastpath_ompi_compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"

#include "support/fp_test.h"

enum { TAG = 97, AGAIN = 4 };

static void nothing_waits(MPI_Comm comm)
{
    int flag;

    for (int i = 0; i < 100; i++) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
}

/* Lets this process behave as if the communicator had not been made known to
 * the PML, which happens when others are through MPI_Init before. */
static void *forget(MPI_Comm comm)
{
    void *known = comm->c_pml_comm;

    comm->c_pml_comm = NULL;
    return known;
}

static void learn(MPI_Comm comm, void *known)
{
    opal_object_t *before = known;

    CHECK_INT(mca_pml.pml_add_comm(comm), OMPI_SUCCESS);
    OBJ_RELEASE(before);
}

/* Of COUNT messages those whose number has a bit in WHICH are cancelled before
 * the receiver knows the communicator, which has an id that was never used. */
static void before_known(MPI_Comm comm, const fp_mode_t *mode, size_t length, unsigned which)
{
    enum { COUNT = 4 };
    fp_message_t sends[COUNT];
    void *known;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            fp_isend(&sends[i], mode, length, 1, TAG, i, comm);
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
    } else if (1 == fp_rank) {
        known = forget(comm);
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        learn(comm, known);
        for (int i = 0; i < COUNT; i++) {
            if (!(which & 1u << i)) {
                fp_recv(length, 0, TAG, i, comm);
            }
        }
        nothing_waits(comm);
    }
    FP(MPI_Barrier(comm)); /* the numbers of later messages fit */
}

/* Communicators are freed only when nobody needs an id that was never used any more. */
static void all_before_known(void)
{
    enum { MOST = 1000 };
    static const unsigned masks[] = {1, 6, 11, 15};
    static MPI_Comm comms[MOST];
    int count = 0;

    for (int i = 0; i < fp_few_size_count; i++) {
        for (int m = FP_STANDARD; m <= FP_BUFFERED; m++) {
            for (size_t w = 0; w < sizeof(masks) / sizeof(masks[0]) && MOST > count; w++) {
                fp_case("%s of %zu bytes, before the communicator is known, mask %u", fp_modes[m].name,
                        fp_few_sizes[i], masks[w]);
                FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[count]));
                before_known(comms[count], &fp_modes[m], fp_few_sizes[i], masks[w]);
                count++;
            }
        }
    }
    while (0 < count) {
        FP(MPI_Comm_free(&comms[--count]));
    }
}

/* The receiver has freed the communicator, before the message came or after.
 * Its id is used again at once. */
static void after_free(const fp_mode_t *mode, size_t length, bool delivered)
{
    fp_message_t send;
    MPI_Comm comm;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        if (delivered) {
            fp_isend(&send, mode, length, 1, TAG, 0, comm);
        }
        fp_await(1, MPI_COMM_WORLD);
        if (!delivered) {
            fp_isend(&send, mode, length, 1, TAG, 0, comm);
        }
        CHECK(fp_cancel(&send.request));
        fp_free(send.buffer);
        FP(MPI_Comm_free(&comm));
    } else {
        if (1 == fp_rank && delivered) {
            FP(MPI_Probe(0, TAG, comm, MPI_STATUS_IGNORE));
        }
        FP(MPI_Comm_free(&comm));
        if (1 == fp_rank) {
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    nothing_waits(comm);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], 77, 1, TAG, 1, comm);
    } else if (1 == fp_rank) {
        fp_recv(77, 0, TAG, 1, comm);
    }
    FP(MPI_Comm_free(&comm));
}

/* Ranks 1 and 2 have freed a communicator that rank 0 still has, and share
 * another one with its id from now on. */
static MPI_Comm with_its_id(uint32_t id)
{
    static const int ranks[] = {1, 2};
    MPI_Group world, both;
    MPI_Comm other;

    FP(MPI_Comm_group(MPI_COMM_WORLD, &world));
    FP(MPI_Group_incl(world, 2, ranks, &both));
    FP(MPI_Comm_create_group(MPI_COMM_WORLD, both, TAG, &other));
    CHECK_INT(fastpath_comm_cid(other), id);
    FP(MPI_Group_free(&both));
    FP(MPI_Group_free(&world));
    return other;
}

/* The same message by its numbers waits there: it stays, and so does
 * everything of rank 0's away from there. */
static void id_of_another(const fp_mode_t *mode, size_t length)
{
    fp_message_t send;
    MPI_Comm comm, other;
    uint32_t id;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    id = fastpath_comm_cid(comm);
    if (0 == fp_rank) {
        fp_isend(&send, mode, length, 2, TAG, 0, comm);
        fp_await(2, MPI_COMM_WORLD);
        CHECK(fp_cancel(&send.request));
        fp_free(send.buffer);
        fp_signal(2, MPI_COMM_WORLD);
        FP(MPI_Comm_free(&comm));
    } else if (2 >= fp_rank) {
        if (2 == fp_rank) {
            FP(MPI_Probe(0, TAG, comm, MPI_STATUS_IGNORE));
        }
        FP(MPI_Comm_free(&comm));
        other = with_its_id(id);
        if (1 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], 10, 1, TAG, 5, other);
        } else {
            FP(MPI_Probe(0, TAG, other, MPI_STATUS_IGNORE));
            fp_signal(0, MPI_COMM_WORLD);
            fp_await(0, MPI_COMM_WORLD);
            fp_recv(10, 0, TAG, 5, other);
        }
        FP(MPI_Comm_free(&other));
    } else {
        FP(MPI_Comm_free(&comm));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* The receiver has freed the communicator after it had received the message, and the one before it but
 * not the one behind it: that is remembered, also when another one with its id has been freed there. */
static void received_before_free(const fp_mode_t *mode, size_t length, bool again)
{
    enum { COUNT = 3 };
    fp_message_t sends[COUNT];
    MPI_Comm comm, other;
    uint32_t id;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    id = fastpath_comm_cid(comm);
    if (0 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            fp_isend(&sends[i], mode, length, 1, TAG + i, i, comm);
        }
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            CHECK_INT(fp_cancel(&sends[i].request), 2 == i);
            fp_free(sends[i].buffer);
        }
    } else if (1 == fp_rank) {
        fp_recv(length, 0, TAG + 1, 1, comm);
        fp_recv(length, 0, TAG, 0, comm);
        FP(MPI_Probe(0, TAG + 2, comm, MPI_STATUS_IGNORE));
    }
    FP(MPI_Comm_free(&comm));
    if (again && (1 == fp_rank || 2 == fp_rank)) {
        other = with_its_id(id);
        FP(MPI_Comm_free(&other));
    }
    if (1 == fp_rank) {
        fp_signal(0, MPI_COMM_WORLD);
    }
}

/* A send that is complete, but not waited for, is cancelled after its communicator was freed on both
 * sides: it has been received. A message with the same numbers in a new communicator stays. */
static void freed_by_both(const fp_mode_t *mode, size_t length)
{
    fp_message_t first, second;
    MPI_Comm comm;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        fp_isend(&first, mode, length, 1, TAG, 0, comm);
    } else if (1 == fp_rank) {
        fp_recv(length, 0, TAG, 0, comm);
    }
    FP(MPI_Comm_free(&comm));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        fp_isend(&second, mode, length, 1, TAG, 1, comm);
        fp_await(1, MPI_COMM_WORLD);
        CHECK(!fp_cancel(&first.request));
        fp_free(first.buffer);
        fp_signal(1, MPI_COMM_WORLD);
        fp_wait_send(&second);
    } else if (1 == fp_rank) {
        FP(MPI_Probe(0, TAG, comm, MPI_STATUS_IGNORE));
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, 1, comm);
    }
    FP(MPI_Comm_free(&comm));
}

/* Freed by its user right after the cancel, as is the communicator: nobody
 * waits for the answer, and everything goes on. */
static void nobody_waits(const fp_mode_t *mode, size_t length)
{
    unsigned char *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 0));
    MPI_Request request;
    MPI_Comm comm;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, comm, &request));
        FP(MPI_Cancel(&request));
        FP(MPI_Request_free(&request));
    }
    FP(MPI_Comm_free(&comm));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    nothing_waits(comm);
    FP(MPI_Barrier(comm));
    FP(MPI_Comm_free(&comm));
    fp_free(buffer);
}

static void one_length(const fp_mode_t *mode, size_t length)
{
    for (int i = 0; i < AGAIN; i++) {
        fp_case("%s of %zu bytes, after the communicator was freed, %d", mode->name, length, i);
        after_free(mode, length, i % 2);
    }
    fp_case("%s of %zu bytes, id of another communicator", mode->name, length);
    id_of_another(mode, length);
    fp_case("%s of %zu bytes, received before the communicator was freed", mode->name, length);
    received_before_free(mode, length, false);
    fp_case("%s of %zu bytes, received before two communicators were freed", mode->name, length);
    received_before_free(mode, length, true);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_case("%s of %zu bytes, communicator freed by both", mode->name, length);
    freed_by_both(mode, length);
    fp_case("%s of %zu bytes, nobody waits for the answer", mode->name, length);
    nobody_waits(mode, length);
}

int main(int argc, char **argv)
{
    enum { ATTACHED = 16 << 20 };
    void *attached = malloc(ATTACHED);
    int size;

    fp_init(&argc, &argv, 3);
    FP(MPI_Buffer_attach(attached, ATTACHED));
    all_before_known();
    for (int i = 0; i < fp_few_size_count; i++) {
        for (int mode = FP_STANDARD; mode <= FP_BUFFERED; mode++) {
            one_length(&fp_modes[mode], fp_few_sizes[i]);
        }
    }
    FP(MPI_Buffer_detach(&attached, &size));
    free(attached);
    return fp_finish();
}
