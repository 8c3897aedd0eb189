/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Every call that returns one status: its fields, MPI_STATUS_IGNORE, and that
 * MPI_ERROR stays as it was (only calls with arrays of statuses may set it). */

#include "support/fp_test.h"

enum { TAG = 181, MARK = 123456 };

static MPI_Status status;
static unsigned char *buffer;
static int capacity;

static void receive(MPI_Status *s)
{
    FP(MPI_Recv(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, s));
}

static void receive_any(MPI_Status *s)
{
    FP(MPI_Recv(buffer, capacity, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, s));
}

static void sendrecv(MPI_Status *s)
{
    FP(MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                    s));
}

static void wait(MPI_Status *s)
{
    MPI_Request request;

    FP(MPI_Irecv(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Wait(&request, s));
}

static void test(MPI_Status *s)
{
    MPI_Request request;
    int flag = 0;

    FP(MPI_Irecv(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
    while (!flag) {
        FP(MPI_Test(&request, &flag, s));
    }
}

static void waitany(MPI_Status *s)
{
    MPI_Request request;
    int index;

    FP(MPI_Irecv(buffer, capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Waitany(1, &request, &index, s));
}

static void probe(MPI_Status *s)
{
    FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, s));
    receive(MPI_STATUS_IGNORE);
}

static void iprobe(MPI_Status *s)
{
    int flag = 0;

    while (!flag) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, s));
    }
    receive(MPI_STATUS_IGNORE);
}

static void mprobe(MPI_Status *s)
{
    MPI_Message message;

    FP(MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, s));
    FP(MPI_Mrecv(buffer, capacity, MPI_BYTE, &message, MPI_STATUS_IGNORE));
}

static void improbe(MPI_Status *s)
{
    MPI_Request request;
    MPI_Message message;
    int flag = 0;

    while (!flag) {
        FP(MPI_Improbe(0, TAG, MPI_COMM_WORLD, &flag, &message, s));
    }
    FP(MPI_Imrecv(buffer, capacity, MPI_BYTE, &message, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void mrecv(MPI_Status *s)
{
    MPI_Message message;

    FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    FP(MPI_Mrecv(buffer, capacity, MPI_BYTE, &message, s));
}

static void imrecv(MPI_Status *s)
{
    MPI_Request request;
    MPI_Message message;

    FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    FP(MPI_Imrecv(buffer, capacity, MPI_BYTE, &message, &request));
    FP(MPI_Wait(&request, s));
}

static const struct {
    const char *name;
    void (*call)(MPI_Status *s);
} calls[] = {{"recv", receive},  {"recv any", receive_any}, {"sendrecv", sendrecv}, {"wait", wait},
             {"test", test},     {"waitany", waitany},      {"probe", probe},       {"iprobe", iprobe},
             {"mprobe", mprobe}, {"improbe", improbe},      {"mrecv", mrecv},       {"imrecv", imrecv}};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void one_call(int call, size_t length, bool ignore)
{
    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, call, MPI_COMM_WORLD);
        fp_await(1, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        capacity = (int) length + 10;
        buffer = fp_alloc((size_t) capacity);
        status.MPI_ERROR = MARK;
        calls[call].call(ignore ? MPI_STATUS_IGNORE : &status);
        CHECK_DATA(buffer, length, fp_key(0, 1, TAG, call));
        if (!ignore) {
            CHECK_STATUS(&status, 0, TAG, length);
        }
        CHECK_INT(status.MPI_ERROR, MARK);
        fp_free(buffer);
        fp_signal(0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    for (int i = 0; i < fp_few_size_count; i++) {
        for (int call = 0; call < CALLS; call++) {
            for (int ignore = 0; ignore < 2; ignore++) {
                fp_case("%s of %zu bytes%s", calls[call].name, fp_few_sizes[i],
                        ignore ? ", status ignored" : "");
                one_call(call, fp_few_sizes[i], ignore);
            }
        }
    }
    return fp_finish();
}
