/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * window_memory: what a window takes in each process. Each rank prints the bytes that osc/fastpath itself has
 * allocated and not freed,
 *
 *     window RANK BYTES     for a new window
 *     peers RANK BYTES      more, when every rank has put something to every other one
 *     tickets RANK BYTES    more, when it has got something from every other one
 *     node RANK BYTES       of files without a name that are mapped since the window is made
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { MOST = 4096 };

/* The C library's own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static struct {
    void *memory;
    size_t size;
} counted[MOST];
static unsigned n_counted;
static bool counting;

static bool is_ours(const void *caller)
{
    Dl_info info;

    return 0 != dladdr(caller, &info) && NULL != info.dli_fname
           && NULL != strstr(info.dli_fname, "mca_osc_fastpath");
}

static void *noted(void *memory, size_t size, const void *caller)
{
    if (counting && NULL != memory && is_ours(caller)) {
        if (MOST == n_counted) {
            abort();
        }
        counted[n_counted].memory = memory;
        counted[n_counted++].size = size;
    }
    return memory;
}

static void forgotten(const void *memory)
{
    for (unsigned i = n_counted; counting && 0 < i--;) {
        if (memory == counted[i].memory) {
            counted[i] = counted[--n_counted];
            return;
        }
    }
}

void *malloc(size_t size)
{
    return noted(__libc_malloc(size), size, __builtin_return_address(0));
}

void *calloc(size_t count, size_t size)
{
    return noted(__libc_calloc(count, size), count * size, __builtin_return_address(0));
}

void *realloc(void *old, size_t size)
{
    forgotten(old);
    return noted(__libc_realloc(old, size), size, __builtin_return_address(0));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = noted(__libc_memalign(alignment, size), size, __builtin_return_address(0));
    return NULL == *memory;
}

void free(void *memory)
{
    forgotten(memory);
    __libc_free(memory);
}

static size_t all_counted(void)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < n_counted; i++) {
        bytes += counted[i].size;
    }
    return bytes;
}

static unsigned long nameless_files(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long bytes = 0, begin, end;
    char line[512];

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        if (NULL != strstr(line, "memfd:") && 2 == sscanf(line, "%lx-%lx", &begin, &end)) {
            bytes += end - begin;
        }
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return bytes;
}

int main(int argc, char **argv)
{
    int rank, size, value = 1;
    unsigned long files;
    size_t before, now;
    int *got, *memory;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    got = __libc_calloc((size_t) size, sizeof(*got));
    memory = __libc_calloc((size_t) size, sizeof(*memory));
    MPI_Alltoall(memory, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* all segments of btl/fastsm are mapped */
    files = nameless_files();

    counting = true;
    MPI_Win_create(memory, (MPI_Aint) size * (MPI_Aint) sizeof(*memory), sizeof(*memory), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    before = all_counted();
    printf("window %d %zu\nnode %d %lu\n", rank, before, rank, nameless_files() - files);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody sends anything before */
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < size; i++) {
        MPI_Put(&value, 1, MPI_INT, i, rank, 1, MPI_INT, win);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    now = all_counted();
    printf("peers %d %zu\n", rank, now - before);
    for (int i = 0; i < size; i++) {
        MPI_Get(&got[i], 1, MPI_INT, i, rank, 1, MPI_INT, win);
    }
    MPI_Win_flush_all(win);
    printf("tickets %d %zu\n", rank, all_counted() - now);
    MPI_Win_unlock_all(win);
    counting = false;
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
