/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Messages longer than the receive: MPI_ERR_TRUNCATE however they travel, not a
 * byte past the buffer, and the next message still arrives.  With the argument
 * "long" messages that are not eager, of which stock ob1 writes a part past the
 * buffer. */

#include "support/fp_test.h"

enum { TAG = 41, OTHER_TAG };

typedef enum { RECV, IRECV, RECV_INIT, MRECV, IMRECV, SENDRECV, WAYS } way_t;
static const char *const way_names[WAYS] = {"recv", "irecv", "recv_init", "mrecv", "imrecv", "sendrecv"};

/* Receives up to CAPACITY bytes; the error class goes through the way's own door. */
static int receive(way_t way, void *buffer, int capacity, MPI_Status *status, bool *posted)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    int rc = MPI_SUCCESS;

    switch (way) {
    case RECV:
        return MPI_Recv(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, status);
    case SENDRECV:
        return MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, TAG, buffer, capacity, MPI_BYTE, 0, TAG,
                            MPI_COMM_WORLD, status);
    case MRECV:
        FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        return MPI_Mrecv(buffer, capacity, MPI_BYTE, &message, status);
    case IMRECV:
        FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        FP(MPI_Imrecv(buffer, capacity, MPI_BYTE, &message, &request));
        break;
    case IRECV:
        FP(MPI_Irecv(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        break;
    default:
        FP(MPI_Recv_init(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Start(&request));
        break;
    }
    if (*posted) {
        fp_signal(0, MPI_COMM_WORLD);
        *posted = false;
    }
    rc = MPI_Wait(&request, status);
    if (MPI_REQUEST_NULL != request) { /* Open MPI frees those that end in error */
        FP(MPI_Request_free(&request));
    }
    return rc;
}

/* A receive that is cancelled knows nothing of what became of the one before it, whose request it may have.
 */
static void cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    FP(MPI_Irecv(NULL, 0, MPI_BYTE, 0, OTHER_TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Cancel(&request));
    FP(MPI_Wait(&request, &status));
    FP(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
}

/* POSTED: the receive is there before the message, where that way can tell. */
static void truncated(way_t way, size_t length, size_t capacity, bool posted)
{
    bool early = posted && (IRECV == way || RECV_INIT == way);
    unsigned char *buffer;
    MPI_Status status;

    if (0 == fp_rank) {
        fp_message_t message;

        fp_await(1, MPI_COMM_WORLD);
        fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, 0, MPI_COMM_WORLD);
        fp_signal(1, MPI_COMM_WORLD);
        fp_wait_send(&message);
        fp_send(&fp_modes[FP_STANDARD], 33, 1, TAG, 1, MPI_COMM_WORLD);
        return;
    }
    buffer = fp_alloc(capacity + 100);
    if (!early) {
        fp_signal(0, MPI_COMM_WORLD);
        if (!posted) {
            fp_await(0, MPI_COMM_WORLD); /* it has come, unexpected */
        }
    }
    FP_ERROR(MPI_ERR_TRUNCATE, receive(way, buffer, (int) capacity, &status, &early));
    CHECK_INT(status.MPI_SOURCE, 0);
    CHECK_INT(status.MPI_TAG, TAG);
    CHECK_POISON(buffer + capacity, 100);
    cancelled();
    if (posted) {
        fp_await(0, MPI_COMM_WORLD);
    }
    fp_recv(33, 0, TAG, 1, MPI_COMM_WORLD);
    fp_free(buffer);
}

/* In MPI_Waitall the error is in the one status, MPI_ERR_IN_STATUS outside, and
 * the others are received. */
static void one_of_several(size_t length)
{
    enum { COUNT = 5, BAD = 2 };
    fp_message_t messages[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];

    for (int i = 0; i < COUNT && 0 == fp_rank; i++) {
        fp_isend(&messages[i], &fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < COUNT && 0 == fp_rank; i++) {
        fp_wait_send(&messages[i]);
    }
    if (1 == fp_rank) {
        unsigned char *buffers[COUNT];

        for (int i = 0; i < COUNT; i++) {
            buffers[i] = fp_alloc(length);
            FP(MPI_Irecv(buffers[i], (int) length - (BAD == i), MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                         &requests[i]));
        }
        FP_ERROR(MPI_ERR_IN_STATUS, MPI_Waitall(COUNT, requests, statuses));
        for (int i = 0; i < COUNT; i++) {
            int class = MPI_SUCCESS;

            /* What was not complete when the error came has to be waited for. */
            if (MPI_ERR_PENDING == statuses[i].MPI_ERROR) {
                FP(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            } else {
                FP(MPI_Error_class(statuses[i].MPI_ERROR, &class));
                CHECK_INT(class, (BAD == i) ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
            }
            if (BAD != i) {
                CHECK_DATA(buffers[i], length, fp_key(0, 1, TAG, i));
            } else {
                CHECK_POISON(buffers[i] + length - 1, 1);
            }
            fp_free(buffers[i]);
        }
    }
}

/* Data with gaps that the sender's convertor makes no parts of, and room that ends within an element. */
static void within_element(int count, MPI_Datatype element, int cut)
{
    const int lengths[] = {1, 2, 1}, places[] = {0, 3, 7};
    MPI_Datatype blocks, irregular;
    MPI_Status status;
    int size, capacity;

    FP(MPI_Type_size(element, &size));
    FP(MPI_Type_indexed(3, lengths, places, element, &blocks));
    FP(MPI_Type_create_resized(blocks, 0, 9 * size, &irregular));
    FP(MPI_Type_commit(&irregular));
    capacity = 4 * count * size - size - cut;
    if (0 == fp_rank) {
        unsigned char *data = fp_alloc((size_t) count * 9 * (size_t) size);

        FP(MPI_Send(data, count, irregular, 1, TAG, MPI_COMM_WORLD));
        fp_send(&fp_modes[FP_STANDARD], 33, 1, TAG, 1, MPI_COMM_WORLD);
        fp_free(data);
    } else {
        unsigned char *buffer = fp_alloc((size_t) capacity + 100);

        FP_ERROR(MPI_ERR_TRUNCATE, MPI_Recv(buffer, capacity, MPI_PACKED, 0, TAG, MPI_COMM_WORLD, &status));
        CHECK_POISON(buffer + capacity, 100);
        fp_recv(33, 0, TAG, 1, MPI_COMM_WORLD);
        fp_free(buffer);
    }
    FP(MPI_Type_free(&blocks));
    FP(MPI_Type_free(&irregular));
}

static void within_elements(void)
{
    static const struct {
        MPI_Datatype type;
        int size;
    } elements[] = {{MPI_DOUBLE, 8}, {MPI_C_DOUBLE_COMPLEX, 16}, {MPI_C_LONG_DOUBLE_COMPLEX, 32}};

    for (int count = 30; count <= 30000; count *= 10) {
        for (int e = 0; e < 3; e++) {
            for (int cut = 1; cut < elements[e].size; cut += 6) {
                fp_case("%d irregular blocks of elements of %d bytes, room ends within one by %d", count,
                        elements[e].size, cut);
                within_element(count, elements[e].type, cut);
            }
        }
    }
}

static void all_ways(size_t length, size_t capacity)
{
    for (int way = 0; way < 2 * WAYS && capacity < length; way++) {
        fp_case("%s of %zu bytes, room for %zu, %s", way_names[way / 2], length, capacity,
                (way % 2) ? "expected" : "unexpected");
        truncated((way_t) (way / 2), length, capacity, way % 2);
    }
}

int main(int argc, char **argv)
{
    static const size_t capacities[] = {0, 1, 8, 40, 100, 1000, 4000, 5000, 50000, 200000};
    static const size_t lengths[] = {1, 9, 41, 300, 4001, 5000, 40000, 100000, 1000003};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]), SHORT = 4 };
    bool only_long;

    fp_init(&argc, &argv, 2);
    only_long = 1 < argc;
    for (int l = only_long ? SHORT : 0; l < (only_long ? COUNT : SHORT) && 1 >= fp_rank; l++) {
        for (size_t c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++) {
            all_ways(lengths[l], capacities[c]);
        }
        fp_case("one of several, %zu bytes", lengths[l]);
        one_of_several(lengths[l]);
    }
    if (only_long && 1 >= fp_rank) {
        within_elements();
    }
    return fp_finish();
}
