/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * To be preloaded: counts the calls of MPI that send, receive and wait, between MPI_Pcontrol(1, ...) and
 * MPI_Pcontrol(-1, ...), and appends one line for each such region to the file FP_COUNT_CALLS.RANK:
 *
 *     LABEL|CALL COUNT BYTES EMPTY|CALL COUNT BYTES EMPTY|...
 *
 * EMPTY is how many of the calls move no bytes.  With FP_DAMAGE the last byte that MPI_Sendrecv receives is
 * changed.
 */

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SEND, BSEND, ISEND, RSEND, IRSEND, SSEND, ISSEND, SENDRECV, RECV, IRECV, WAIT, CALLS };
static const char *const names[CALLS] = {"MPI_Send",   "MPI_Bsend", "MPI_Isend",  "MPI_Rsend",
                                         "MPI_Irsend", "MPI_Ssend", "MPI_Issend", "MPI_Sendrecv",
                                         "MPI_Recv",   "MPI_Irecv", "MPI_Wait"};
static long counts[CALLS], bytes[CALLS], empty[CALLS];
static FILE *file;

static void count(int call, int length)
{
    ++counts[call];
    bytes[call] += length;
    empty[call] += 0 == length;
}

static void open_file(void)
{
    const char *name = getenv("FP_COUNT_CALLS");
    char path[4096];
    int rank;

    if (NULL != name && NULL == file) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(path, sizeof(path), "%s.%d", name, rank);
        file = fopen(path, "a");
    }
}

int MPI_Pcontrol(const int level, ...)
{
    va_list arguments;
    const char *label;

    va_start(arguments, level);
    label = va_arg(arguments, const char *);
    va_end(arguments);
    open_file();
    if (level < 0 && NULL != file) {
        fputs(label, file);
        for (int i = 0; i < CALLS; ++i) {
            if (counts[i] > 0) {
                fprintf(file, "|%s %ld %ld %ld", names[i], counts[i], bytes[i], empty[i]);
            }
        }
        fputc('\n', file);
        fflush(file);
    }
    for (int i = 0; i < CALLS; ++i) {
        counts[i] = bytes[i] = empty[i] = 0;
    }
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    int rank, code = PMPI_Barrier(comm);

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank >= 2 && NULL != getenv("FP_LATE")) {
        usleep(250000);
    }
    return code;
}

int MPI_Send(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count(SEND, length);
    return PMPI_Send(buffer, length, type, to, tag, comm);
}

int MPI_Bsend(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count(BSEND, length);
    return PMPI_Bsend(buffer, length, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    count(ISEND, length);
    return PMPI_Isend(buffer, length, type, to, tag, comm, request);
}

int MPI_Rsend(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count(RSEND, length);
    return PMPI_Rsend(buffer, length, type, to, tag, comm);
}

int MPI_Irsend(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    count(IRSEND, length);
    return PMPI_Irsend(buffer, length, type, to, tag, comm, request);
}

int MPI_Ssend(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count(SSEND, length);
    return PMPI_Ssend(buffer, length, type, to, tag, comm);
}

int MPI_Issend(const void *buffer, int length, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    count(ISSEND, length);
    return PMPI_Issend(buffer, length, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void *out, int out_length, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int in_length, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    int code = PMPI_Sendrecv(out, out_length, out_type, to, out_tag, in, in_length, in_type, from, in_tag,
                             comm, status);

    count(SENDRECV, out_length);
    if (in_length > 0 && NULL != getenv("FP_DAMAGE")) {
        ((char *) in)[in_length - 1] ^= 1;
    }
    return code;
}

int MPI_Recv(void *buffer, int length, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    count(RECV, length);
    return PMPI_Recv(buffer, length, type, from, tag, comm, status);
}

int MPI_Irecv(void *buffer, int length, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    count(IRECV, length);
    return PMPI_Irecv(buffer, length, type, from, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    count(WAIT, 0);
    return PMPI_Wait(request, status);
}
