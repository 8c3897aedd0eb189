/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Messages in an Open MPI that has an accelerator: what is in its memory is moved by convertors only, and
 * what is not, as without one.
 *
 * The accelerator is this program's own: its memory is mapped twice, once where nobody may read or write it,
 * which is the address that MPI is given, and once where its functions do. So whoever takes it for usual
 * memory ends the job, and the kernel refuses it single copies.
 *
 * With "fast": over btl/fastsm, where all that is short takes a fast path. With "windows": one-sided
 * communication. */

#define _GNU_SOURCE

#include "ompi_config.h"

#include "opal/constants.h"
#include "opal/mca/accelerator/base/base.h"

#include <sys/mman.h>
#include <unistd.h>

#include "support/fp_counters.h"

enum { MOST = 4 << 20, ROOM = 2 * MOST, TAG = 31, BLOCK = 8, STRIDE = 16, EXCHANGES = 100 };

enum { RECVS_IMMEDIATE = FP_SENDS, COUNTERS };

static const char *const names[COUNTERS] = {FP_SEND_COUNTERS, "pml_fastpath_recvs_immediate"};

/* ---- the accelerator ---- */

static char *device, *shadow; /* two buffers of ROOM bytes */
static unsigned long questions, copies;

static bool on_device(const void *address)
{
    return (const char *) address >= device && (const char *) address < device + 2 * ROOM;
}

static char *behind(const void *address)
{
    return on_device(address) ? shadow + ((const char *) address - device) : (char *) (uintptr_t) address;
}

static int check_addr(const void *address, int *id, uint64_t *flags)
{
    *flags = 0;
    *id = on_device(address) ? 0 : MCA_ACCELERATOR_NO_DEVICE_ID;
    ++questions;
    return on_device(address);
}

static int copy(int to_id, int from_id, void *to, const void *from, size_t size,
                opal_accelerator_transfer_type_t type)
{
    (void) to_id;
    (void) from_id;
    (void) type;
    memmove(behind(to), behind(from), size);
    ++copies;
    return OPAL_SUCCESS;
}

static void make_device(void)
{
    const int file = memfd_create("accelerator", 0);

    CHECK(0 <= file && 0 == ftruncate(file, 2 * ROOM));
    device = mmap(NULL, 2 * ROOM, PROT_NONE, MAP_SHARED, file, 0);
    shadow = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(MAP_FAILED != (void *) device && MAP_FAILED != (void *) shadow);
    close(file);
    opal_accelerator.check_addr = check_addr;
    opal_accelerator.mem_copy = copy;
    opal_accelerator.mem_move = copy;
    strcpy(opal_accelerator_base_selected_component.base_version.mca_component_name, "test");
}

/* ---- messages ---- */

/* Where a message is: as MPI is told, and where this program reads and writes it. */
typedef struct {
    char *told;
    char *real;
} memory_t;

static memory_t host[2], ours[2]; /* to send from, to receive to */

/* What it consists of. */
typedef struct {
    const char *name;
    MPI_Datatype type;
    size_t block, stride;
} layout_t;

static layout_t layouts[2] = {{"bytes", MPI_BYTE, 1, 1}, {"blocks", MPI_DATATYPE_NULL, BLOCK, STRIDE}};

static void fill(const layout_t *layout, char *to, int count, uint64_t key)
{
    for (size_t i = 0; i < (size_t) count; ++i) {
        fp_fill_from(to + i * layout->stride, layout->block, key, i * layout->block);
    }
}

static void check(const layout_t *layout, const char *at, int count, uint64_t key)
{
    for (size_t i = 0; i < (size_t) count; ++i) {
        if (!CHECK_DATA_FROM(at + i * layout->stride, layout->block, key, i * layout->block)) {
            return;
        }
    }
}

typedef void way_t(const void *out, void *in, int count, MPI_Datatype type, int other);

static void blocking(const void *out, void *in, int count, MPI_Datatype type, int other)
{
    if (0 == fp_rank) {
        FP(MPI_Send(out, count, type, other, TAG, MPI_COMM_WORLD));
        FP(MPI_Recv(in, count, type, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Recv(in, count, type, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Ssend(out, count, type, other, TAG, MPI_COMM_WORLD));
    }
}

static void both_ways(const void *out, void *in, int count, MPI_Datatype type, int other)
{
    FP(MPI_Sendrecv(out, count, type, other, TAG, in, count, type, other, TAG, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
}

static void posted(const void *out, void *in, int count, MPI_Datatype type, int other)
{
    MPI_Request requests[2];

    FP(MPI_Irecv(in, count, type, other, TAG, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Isend(out, count, type, other, TAG, MPI_COMM_WORLD, &requests[1]));
    FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void unexpected(const void *out, void *in, int count, MPI_Datatype type, int other)
{
    MPI_Message message;
    MPI_Request request;

    FP(MPI_Isend(out, count, type, other, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Mprobe(other, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    FP(MPI_Mrecv(in, count, type, &message, MPI_STATUS_IGNORE));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void persistent(const void *out, void *in, int count, MPI_Datatype type, int other)
{
    MPI_Request requests[2];

    FP(MPI_Recv_init(in, count, type, other, TAG, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Send_init(out, count, type, other, TAG, MPI_COMM_WORLD, &requests[1]));
    FP(MPI_Startall(2, requests));
    FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    FP(MPI_Request_free(&requests[0]));
    FP(MPI_Request_free(&requests[1]));
}

static void to_itself(const void *out, void *in, int count, MPI_Datatype type, int other)
{
    (void) other;
    FP(MPI_Sendrecv(out, count, type, fp_rank, TAG, in, count, type, fp_rank, TAG, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
}

static const struct {
    const char *name;
    way_t *go;
} ways[] = {{"MPI_Send, MPI_Recv", blocking}, {"MPI_Sendrecv", both_ways}, {"posted", posted},
            {"unexpected", unexpected},       {"persistent", persistent},  {"to itself", to_itself}};

/* One message of each rank's to the other one, or to itself. */
static void exchange(size_t way, const layout_t *layout, size_t size, const memory_t *out, const memory_t *in)
{
    const int other = 1 - fp_rank, count = (int) (size / layout->block);
    const int from = to_itself == ways[way].go ? fp_rank : other;
    const int to = from;
    const uint64_t key = fp_key(fp_rank, to, (int) way, (int) size);

    fp_case("%s, %zu bytes, %s, %s to %s", ways[way].name, size, layout->name,
            on_device(out->told) ? "device" : "host", on_device(in->told) ? "device" : "host");
    fill(layout, out->real, count, key);
    fill(layout, in->real, count, ~key);
    ways[way].go(out->told, in->told, count, layout->type, other);
    check(layout, in->real, count, fp_key(from, fp_rank, (int) way, (int) size));
}

static void all(const memory_t *out, const memory_t *in)
{
    static const size_t sizes[] = {8, 40, 64, 1000, 4096, 16384, 65536, 300000, 1 << 20, MOST};

    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); ++way) {
        for (size_t l = 0; l < 2; ++l) {
            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
                exchange(way, &layouts[l], sizes[i], out, in);
            }
        }
    }
}

/* Usual memory is sent and received by the fast paths though there is an accelerator, which is asked. */
static void fast(void)
{
    const int other = 1 - fp_rank;
    const unsigned long before = questions;
    fp_counts_t counts;

    fp_case("fast paths");
    FP(MPI_Barrier(MPI_COMM_WORLD));
    counts = fp_counters_now();
    for (int i = 0; i < EXCHANGES; ++i) {
        for (int sender = 0; sender < 2; ++sender) {
            if (sender == fp_rank) {
                FP(MPI_Send(host[0].told, 8, MPI_BYTE, other, TAG, MPI_COMM_WORLD));
            } else {
                FP(MPI_Recv(host[1].told, 8, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
        }
    }
    counts = fp_counters_since(&counts);
    CHECK_INT(counts.value[FP_SENDS_IMMEDIATE], EXCHANGES);
    CHECK(EXCHANGES / 2 <= counts.value[RECVS_IMMEDIATE]); /* of others it may come too late */
    CHECK(before + EXCHANGES <= questions);
    printf("# %lu questions in %d sends and as many receives\n", questions - before, EXCHANGES);
}

static void messages(bool over_fastsm)
{
    MPI_Datatype block;

    FP(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    FP(MPI_Type_create_resized(block, 0, STRIDE, &layouts[1].type));
    FP(MPI_Type_free(&block));
    FP(MPI_Type_commit(&layouts[1].type));
    all(&host[0], &host[1]);
    if (over_fastsm) {
        fast();
    }
    CHECK_INT(copies, 0);
    all(&ours[0], &host[1]);
    all(&host[0], &ours[1]);
    all(&ours[0], &ours[1]);
    FP(MPI_Type_free(&layouts[1].type));
}

/* ---- windows ---- */

enum { VALUES = 5000 };

static int value_at(const memory_t *memory, int i)
{
    int value;

    memcpy(&value, memory->real + (size_t) i * sizeof(value), sizeof(value));
    return value;
}

static void set_values(const memory_t *memory, int first, int step)
{
    for (int i = 0; i < VALUES; ++i) {
        const int value = first + i * step;

        memcpy(memory->real + (size_t) i * sizeof(value), &value, sizeof(value));
    }
}

/* Checks that all values are first + i * step. */
static void check_values(const memory_t *memory, int first, int step)
{
    int good = 0;

    while (VALUES > good && first + good * step == value_at(memory, good)) {
        ++good;
    }
    CHECK_INT(good, VALUES);
}

/* Rank 0 does all that there is to the memory of a rank; what one operation takes and gives is the next
 * one's. */
static void operations(const memory_t *origin, int target, MPI_Aint at, MPI_Win win)
{
    int *const told = (int *) (void *) origin->told;

    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    set_values(origin, 1, 1);
    FP(MPI_Put(told, VALUES, MPI_INT, target, at, VALUES, MPI_INT, win));
    FP(MPI_Win_flush(target, win));
    set_values(origin, 0, 1);
    FP(MPI_Accumulate(told, VALUES, MPI_INT, target, at, VALUES, MPI_INT, MPI_SUM, win));
    FP(MPI_Win_flush(target, win));
    set_values(origin, 0, 0);
    FP(MPI_Get(told, VALUES, MPI_INT, target, at, VALUES, MPI_INT, win));
    FP(MPI_Win_flush(target, win));
    check_values(origin, 1, 2);
    FP(MPI_Put(told, 1, MPI_INT, target, at, 1, MPI_INT, win)); /* short ones: 1 */
    FP(MPI_Win_flush(target, win));
    FP(MPI_Fetch_and_op(told, told + VALUES, MPI_INT, target, at, MPI_SUM, win));
    FP(MPI_Win_flush(target, win));
    CHECK_INT(value_at(origin, VALUES), 1);
    set_values(origin, 2, 3);
    FP(MPI_Compare_and_swap(told + 1, told, told + VALUES, MPI_INT, target, at, win)); /* 5 where 2 is */
    FP(MPI_Win_flush(target, win));
    CHECK_INT(value_at(origin, VALUES), 2);
    FP(MPI_Get_accumulate(told, 1, MPI_INT, told + VALUES, 1, MPI_INT, target, at, 1, MPI_INT, MPI_SUM, win));
    FP(MPI_Win_unlock(target, win));
    CHECK_INT(value_at(origin, VALUES), 5);
}

enum { CREATED, DYNAMIC, ALLOCATED };

static const char *const flavors[] = {"", "dynamic ", "allocated "};

/* Makes a window of `memory`, or of memory that it receives. */
static MPI_Win make_window(int flavor, memory_t *memory, MPI_Aint places[2])
{
    MPI_Win win;

    switch (flavor) {
    case CREATED:
        FP(MPI_Win_create(memory->told, ROOM, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        break;
    case DYNAMIC:
        FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        FP(MPI_Win_attach(win, memory->told, ROOM));
        FP(MPI_Get_address(memory->told, &places[fp_rank]));
        FP(MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD));
        break;
    default:
        FP(MPI_Win_allocate(ROOM, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory->told, &win));
        memory->real = memory->told;
    }
    set_values(memory, 0, 0);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    return win;
}

static void windows_of(int flavor, const memory_t *origin, memory_t memory)
{
    for (int target = 0; target < 2; ++target) {
        MPI_Aint places[2] = {0, 0};
        MPI_Win win;

        fp_case("%swindow of rank %d on %s, origin on %s", flavors[flavor], target,
                on_device(memory.told) ? "device" : "host", on_device(origin->told) ? "device" : "host");
        win = make_window(flavor, &memory, places);
        if (0 == fp_rank) {
            operations(origin, target, places[target], win);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        if (target == fp_rank) {
            CHECK_INT(value_at(&memory, 0), 7);
            CHECK_INT(value_at(&memory, 1), 3);
        }
        if (DYNAMIC == flavor) {
            FP(MPI_Win_detach(win, memory.told));
        }
        FP(MPI_Win_free(&win));
    }
}

static void windows(void)
{
    const memory_t none = {.told = NULL};

    for (int flavor = CREATED; flavor <= DYNAMIC; ++flavor) {
        windows_of(flavor, &host[0], host[1]);
        windows_of(flavor, &ours[0], host[1]);
        windows_of(flavor, &host[0], ours[1]);
        windows_of(flavor, &ours[0], ours[1]);
    }
    windows_of(ALLOCATED, &host[0], none);
    windows_of(ALLOCATED, &ours[0], none);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    make_device();
    for (int i = 0; i < 2; ++i) {
        host[i].told = host[i].real = fp_alloc(ROOM);
        ours[i] = (memory_t){.told = device + i * ROOM, .real = shadow + i * ROOM};
    }
    if (1 < argc && 0 == strcmp(argv[1], "windows")) {
        windows();
    } else {
        messages(1 < argc);
    }
    CHECK(0 < copies);
    for (int i = 0; i < 2; ++i) {
        fp_free(host[i].told);
    }
    fp_counters_close();
    return fp_finish();
}
