/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Communicators with every kind of id: up to the largest that the PML announces.
 *
 * Open MPI gives a new communicator the lowest id that is free with all members,
 * and keeps a table with one pointer per id: 16 GB for the largest. This program
 * puts a table of that size in its place, of which only the pages that are
 * touched take memory, and says which id is the lowest that is free. */

#include "ompi_config.h"

#include "fastpath_ompi_compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"

#include "support/fp_test.h"

#include <sys/mman.h>

enum { TAG = 55, EACH = 3 };

static opal_pointer_array_t *const table = &ompi_mpi_communicators;
static opal_pointer_array_t small;
static size_t addr_size, bits_size;

static void *reserve(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return MAP_FAILED == memory ? NULL : memory;
}

/* Whether the table could be had. */
static bool grow_table(int size)
{
    void **addr;
    uint64_t *bits;

    addr_size = (size_t) size * sizeof(addr[0]);
    bits_size = ((size_t) size / 64 + 1) * sizeof(bits[0]);
    addr = reserve(addr_size);
    bits = reserve(bits_size);
    if (NULL == addr || NULL == bits) {
        return false;
    }
    memcpy(addr, table->addr, (size_t) table->size * sizeof(addr[0]));
    memcpy(bits, table->free_bits, ((size_t) table->size + 63) / 64 * sizeof(bits[0]));
    small = *table;
    table->addr = addr;
    table->free_bits = bits;
    table->number_free += size - table->size;
    table->size = size;
    return true;
}

/* As it was: nothing has changed below the old size. */
static void shrink_table(void)
{
    munmap(table->addr, addr_size);
    munmap(table->free_bits, bits_size);
    table->addr = small.addr;
    table->free_bits = small.free_bits;
    table->size = small.size;
    table->number_free = small.number_free;
    table->lowest_free = small.lowest_free;
}

/* All sizes in a ring, an unexpected message, a probe, and a cancel. */
static void traffic(MPI_Comm comm)
{
    int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size, flag;
    unsigned char byte = 7;
    MPI_Request request;
    MPI_Status status;

    for (int i = 0; i < fp_few_size_count; i++) {
        fp_message_t in, out;

        fp_irecv(&in, fp_few_sizes[i], before, TAG, i, comm);
        fp_isend(&out, &fp_modes[i % 2], fp_few_sizes[i], next, TAG, i, comm);
        fp_wait_recv(&in);
        fp_wait_send(&out);
    }
    FP(MPI_Isend(&byte, 1, MPI_BYTE, next, TAG + 1, comm, &request));
    FP(MPI_Probe(before, TAG + 1, comm, &status));
    CHECK_STATUS(&status, before, TAG + 1, 1);
    FP(MPI_Barrier(comm)); /* everybody has seen one */
    CHECK(fp_cancel(&request));
    FP(MPI_Barrier(comm));
    FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
    CHECK(!flag);
}

/* Communicators whose ids start with this one. */
static void ids_from(uint32_t id)
{
    MPI_Comm comms[EACH];

    for (int i = 0; i < EACH; i++) {
        table->lowest_free = (int) id + i;
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        fp_check(id + (uint32_t) i == fastpath_comm_cid(comms[i]), __FILE__, __LINE__, "id is %u and not %u",
                 fastpath_comm_cid(comms[i]), id + (uint32_t) i);
    }
    for (int i = EACH - 1; i >= 0; i--) {
        traffic(comms[i]);
    }
    for (int i = 0; i < EACH; i++) {
        FP(MPI_Comm_free(&comms[i]));
    }
}

/* The last one there is. What comes after it cannot be tried: Open MPI 4.1 fails, as it should, but frees
 * what it counts ids in before its reduction has ended, which sometimes hangs there ("NBC_Start_round: bad
 * type"). */
static void last_id(void)
{
    MPI_Comm last;

    table->lowest_free = (int) mca_pml.pml_max_contextid - 1;
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &last));
    CHECK(mca_pml.pml_max_contextid - 1 == fastpath_comm_cid(last));
    traffic(last);
    FP(MPI_Comm_free(&last));
    table->lowest_free = small.lowest_free;
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &last));
    traffic(last);
    FP(MPI_Comm_free(&last));
}

int main(int argc, char **argv)
{
    int enough, all;

    fp_init(&argc, &argv, 2);
    fp_case("table");
    enough = grow_table(INT32_MAX);
    FP(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all) {
        if (enough) {
            shrink_table();
        }
        fp_skip("no address space for a table of 2^31 - 1 communicators");
    }
    for (unsigned bit = 4; bit < 31; bit++) {
        uint32_t id = UINT32_C(1) << bit;

        fp_case("ids around %" PRIu32, id);
        ids_from(id - 1);
    }
    fp_case("the largest ids");
    CHECK(INT32_MAX == mca_pml.pml_max_contextid);
    ids_from(INT32_MAX - EACH);
    fp_case("the last id");
    last_id();
    shrink_table();
    return fp_finish();
}
