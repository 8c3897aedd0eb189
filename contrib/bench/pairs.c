/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * A library to preload: lets a program that measures two processes run as many pairs at once. In place
 * of MPI_COMM_WORLD the program sees a communicator of rank r and rank size - 1 - r.
 *
 *     mpirun -np 8 -x LD_PRELOAD=contrib/bench/.libs/libpairs.so --mca pml fastpath NPopenmpi -o /dev/null
 *
 * NetPIPE 3.7.2 needs this for more than two processes: by itself it lets only the first and the last
 * rank communicate, and the others, which call MPI_Barrier less often, leave those two waiting for ever,
 * whatever MPI it runs on. Only what NetPIPE calls is wrapped.
 */

#include <mpi.h>

static MPI_Comm pair;

static MPI_Comm seen(MPI_Comm comm)
{
    return MPI_COMM_WORLD == comm ? pair : comm;
}

int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    int rank, size;

    if (MPI_SUCCESS != rc) {
        return rc;
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return PMPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 - rank ? rank : size - 1 - rank, rank, &pair);
}

int MPI_Finalize(void)
{
    PMPI_Comm_free(&pair);
    return PMPI_Finalize();
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(seen(comm), rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    return PMPI_Comm_size(seen(comm), size);
}

int MPI_Barrier(MPI_Comm comm)
{
    return PMPI_Barrier(seen(comm));
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    return PMPI_Send(buf, count, datatype, dest, tag, seen(comm));
}

int MPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    return PMPI_Ssend(buf, count, datatype, dest, tag, seen(comm));
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    return PMPI_Recv(buf, count, datatype, source, tag, seen(comm), status);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return PMPI_Irecv(buf, count, datatype, source, tag, seen(comm), request);
}
