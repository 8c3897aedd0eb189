/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* damage KIND HOW: rank 1 puts something into the FIFO to rank 0 that no sender puts there, as a stray write
 * could, while rank 0 looks for messages in one of the ways there are.
 *
 * KIND  one of the table below
 * HOW   named   rank 0 receives from rank 1
 *       any     from whoever sends
 *       probe   it probes
 *       send    it sends more than there is room for, with several threads: to receive an answer that is
 * wrong
 *
 * FIFOs have 8 slots, so that messages may be too long for what is left of one. */

#include "support/fp_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal_config.h"

#include "opal/mca/btl/btl.h"
#include "opal/mca/btl/fastsm/btl_fastsm_fifo.h"
#include "opal/mca/btl/fastsm/btl_fastsm_layout.h"

enum { TAG = 5, MANY = 100 };

/** what is where a place begins in the sender's pool, and the longest one */
#define IN_POOL     UINT64_MAX
#define LENGTH_MAX  ((UINT32_C(1) << MCA_BTL_FASTSM_PLACE_LENGTH_BITS) - 1)
#define CHUNKS      (MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS)
/** mca_btl_fastsm_split() */
#define SPLIT(chunks, width) ((width) << 8 | (chunks))

/** the head of a slot, and the first words of its data: a place, if it has POOL */
typedef struct {
    const char *name;
    uint8_t flags;
    uint8_t tag; /**< 0: that of a message */
    uint16_t length;
    uint64_t offset;
    uint32_t bytes;
} damage_t;

/** the chunks behind the first one, each in a buffer of its own */
typedef struct {
    const char *name;
    uint32_t bytes[2];
    enum { NOTHING, OUTSIDE, NO_REFERENCE } wrong; /**< about the last one, beside its length */
} further_t;

static const damage_t kinds[] = {
    {"pad_of_nothing", MCA_BTL_FASTSM_SLOT_PAD, 0, 0, 0, 0},
    {"pad_too_long", MCA_BTL_FASTSM_SLOT_PAD, 0, 18, 0, 0},
    {"pad_of_odd_length", MCA_BTL_FASTSM_SLOT_PAD, 0, 3, 0, 0},
    {"beyond_the_end", 0, 0, 560, 0, 0},
    {"too_long", 0, 0, 65535, 0, 0},
    {"no_such_flags", 0x40, 0, 16, 0, 0},
    {"no_such_tag", 0, 250, 16, 0, 0},
    {"offset_outside", MCA_BTL_FASTSM_SLOT_POOL, 0, 24, MCA_BTL_FASTSM_SEGMENT_MAX - 16, 16},
    {"offset_below", MCA_BTL_FASTSM_SLOT_POOL, 0, 24, 64, 16},
    {"length_outside", MCA_BTL_FASTSM_SLOT_POOL, 0, 24, IN_POOL, LENGTH_MAX},
    {"chunks_outside", CHUNKS, 0, SPLIT(3, 1), MCA_BTL_FASTSM_SEGMENT_MAX - 16, 16 + 10000},
    {"chunks_too_short", CHUNKS, 0, SPLIT(2, 1), IN_POOL, 16},
    {"chunks_of_one", CHUNKS, 0, SPLIT(1, 1), IN_POOL, 16 + 10000},
    {"chunks_of_nothing", CHUNKS, 0, SPLIT(3, 0), IN_POOL, 16 + 10000},
    {"chunks_too_wide", CHUNKS, 0, SPLIT(2, 3), IN_POOL, 16 + 10000},
    {"chunks_too_many", CHUNKS, 0, SPLIT(17, 1), IN_POOL, 16 + 17 * 4096}, /* a FIFO has 16 halves */
    {"chunks_too_long", CHUNKS, 0, SPLIT(3, 1), IN_POOL, LENGTH_MAX},
    {"chunks_too_short_for_many", CHUNKS, 0, SPLIT(4, 1), IN_POOL, 16 + 10000},
    {"chunk_too_short", CHUNKS, 0, SPLIT(3, 1), IN_POOL, 16 + 10000},
    {"chunk_of_nothing", CHUNKS, 0, SPLIT(3, 1), IN_POOL, 16 + 10000},
    {"chunk_too_long", CHUNKS, 0, SPLIT(3, 1), IN_POOL, 16 + 10000},
    {"chunk_outside", CHUNKS, 0, SPLIT(3, 1), IN_POOL, 16 + 10000},
    {"chunk_without_place", CHUNKS, 0, SPLIT(3, 1), IN_POOL, 16 + 10000},
    {"no_question", MCA_BTL_FASTSM_SLOT_WANT, 0, 8, 0, 0},
    {"not_assigned", MCA_BTL_FASTSM_SLOT_CONTINUE, 0, 8, 0, 0},
    {"short_header", 0, 0, 8, 1, 0},
    {"no_such_receive", 0, MCA_BTL_TAG_PML + 5, 24, 5, 7}, /* a FRAG of the PML's */
    {"assignment_outside", 0, 0, 0, 0, 0}, /* no slot, but an answer to a question that comes later */
};

static const further_t further_kinds[] = {
    {"chunks_outside", {4096, 1808}, NOTHING},           {"chunk_too_short", {4095, 1808}, NOTHING},
    {"chunk_too_long", {4096, 1809}, NOTHING},           {"chunk_outside", {4096, 1808}, OUTSIDE},
    {"chunk_without_place", {4096, 1808}, NO_REFERENCE}, {"chunk_of_nothing", {5904, 0}, NOTHING},
};

/* The descriptor of our own segment. */
static int own_segment(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int found = -1;

    while (NULL != dir && NULL != (entry = readdir(dir))) {
        char target[256] = "";

        if (0 < readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1)
            && NULL != strstr(target, "memfd:fastsm")) {
            found = atoi(entry->d_name);
        }
    }
    if (NULL != dir) {
        closedir(dir);
    }
    return found;
}

static char *map_segment(int pid, int fd, mca_btl_fastsm_layout_t *layout)
{
    char path[64], *base;
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    fd = open(path, O_RDWR);
    if (-1 == fd || 0 != fstat(fd, &status)) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    base = (char *) mmap(NULL, (size_t) status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (MAP_FAILED == (void *) base
        || 0 != mca_btl_fastsm_layout(&((mca_btl_fastsm_segment_hdr_t *) base)->params, layout)) {
        fprintf(stderr, "no segment: %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return base;
}

/* Writes what is at a position, and stores its word. */
static void put(mca_btl_fastsm_slot_t *slots, uint32_t depth, uint32_t pos, uint8_t tag, uint8_t flags,
                uint16_t length, uint64_t word, uint32_t more)
{
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(slots, depth, pos);

    fastsm_fifo_describe(slot, length, tag, flags);
    memset(slot->u.head.data, 0, MCA_BTL_FASTSM_HALF_DATA);
    memcpy(slot->u.head.data, &word, sizeof(word));
    memcpy(slot->u.head.data + sizeof(word), &more, sizeof(more));
    fastsm_store_head_sequence(slot, pos + 1);
}

/* The chunks behind the first one, if the damage has any. Returns how many. */
static uint32_t damage_further(const damage_t *kind, mca_btl_fastsm_slot_t *slots, uint32_t depth,
                               uint32_t pos, uint8_t tag, const mca_btl_fastsm_layout_t *layout)
{
    for (size_t i = 0; i < sizeof(further_kinds) / sizeof(further_kinds[0]); i++) {
        const further_t *further = &further_kinds[i];

        for (uint32_t j = 0; 0 == strcmp(kind->name, further->name); j++) {
            const int wrong = 1 == j ? (int) further->wrong : NOTHING;
            const uint64_t offset = OUTSIDE == wrong
                                        ? layout->fifos
                                        : mca_btl_fastsm_layout_eager(layout, j + 1) + MCA_BTL_FASTSM_LINE;

            put(slots, depth, pos + 1 + j, tag, NO_REFERENCE == wrong ? 0 : MCA_BTL_FASTSM_SLOT_POOL, 24,
                mca_btl_fastsm_place(offset, further->bytes[j]), 0);
            if (1 == j) {
                return 2;
            }
        }
    }
    return 0;
}

/* The tag that rank 0 expects is that of the last message it has read, of 8 bytes or less. */
static void damage(const damage_t *kind, int pid, int fd)
{
    const uint32_t number = (uint32_t) fp_rank;
    mca_btl_fastsm_layout_t layout;
    char *base = map_segment(pid, fd, &layout);
    _Atomic uint32_t *read_pos =
        (_Atomic uint32_t *) (base + mca_btl_fastsm_layout_read_pos(&layout, number));
    mca_btl_fastsm_slot_t *slots =
        (mca_btl_fastsm_slot_t *) (base + mca_btl_fastsm_layout_fifo(&layout, number));
    const uint32_t pos = atomic_load(read_pos), depth = 2 * layout.params.fifo_depth;
    const mca_btl_fastsm_slot_t *last = fastsm_fifo_slot(slots, depth, pos - 1);
    const uint8_t tag = 0 == kind->tag ? last->u.head.tag : kind->tag;
    const bool reference = 0 != (kind->flags & MCA_BTL_FASTSM_SLOT_POOL);
    const uint64_t offset =
        IN_POOL == kind->offset ? layout.eager_pool + MCA_BTL_FASTSM_EAGER_LEAD : kind->offset;
    uint32_t further;

    put(slots, depth, pos, tag, kind->flags, kind->length,
        reference ? mca_btl_fastsm_place(offset, kind->bytes) : offset, reference ? 0 : kind->bytes);
    further = damage_further(kind, slots, depth, pos, tag, &layout);
    fastsm_store_bell((_Atomic uint8_t *) (base + mca_btl_fastsm_layout_bell(&layout, number)),
                      (uint8_t) (pos + 1 + further));
}

/* The answer to the first question of rank 0 for a FIFO of ours: one of those that there are not. */
static void damage_answer(int pid, int fd)
{
    mca_btl_fastsm_layout_t layout;
    char *base = map_segment(pid, fd, &layout);

    atomic_store(
        &((mca_btl_fastsm_read_pos_t *) (base + mca_btl_fastsm_layout_read_pos(&layout, 0)))->assignment,
        UINT32_C(1) << 16 | 0xffff);
}

static const damage_t *find(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (0 == strcmp(name, kinds[i].name)) {
            return &kinds[i];
        }
    }
    fprintf(stderr, "unknown: %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

/* More than there is room for, so that we ask for more of it. In a job with fault tolerance rank 1 counts as
 * failed then, and the job ends here. */
static void send_many(void)
{
    MPI_Request requests[MANY];
    int number = 0;

    for (int i = 0; i < MANY; i++) {
        FP(MPI_Isend(&number, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]));
    }
    (void) MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    (void) MPI_Recv(&number, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void look(const char *how)
{
    int byte, flag = 0;

    if (0 == strcmp(how, "send")) {
        send_many();
        return;
    }
    if (0 == strcmp(how, "probe")) {
        while (0 == flag) {
            FP(MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
    }
    FP(MPI_Recv(&byte, 1, MPI_INT, 0 == strcmp(how, "any") ? MPI_ANY_SOURCE : 1, TAG, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    const damage_t *kind;
    int where[2] = {0}, ready = 0;

    (void) fp_init_thread(
        &argc, &argv, 2, 3 == argc && 0 == strcmp(argv[2], "send") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (3 != argc) {
        fprintf(stderr, "usage: damage KIND HOW\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    kind = find(argv[1]);
    fp_case("%s, %s", argv[1], argv[2]);
    if (0 == fp_rank) {
        where[0] = (int) getpid();
        where[1] = own_segment();
        FP(MPI_Send(where, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        FP(MPI_Recv(&ready, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Send(&ready, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        look(argv[2]);
    } else if (1 == fp_rank) {
        FP(MPI_Recv(where, 2, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (0 == strcmp(argv[2], "send")) {
            damage_answer((int) getpid(), own_segment());
        }
        FP(MPI_Send(&ready, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
        FP(MPI_Recv(&ready, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* all has been read */
        if (0 != strcmp(argv[2], "send")) {
            damage(kind, where[0], where[1]);
        }
        fp_sleep_ms(0 == strcmp(argv[2], "send") ? 200 : 0); /* until there is no room */
        for (int i = 0; i < MANY && 0 == strcmp(argv[2], "send"); i++) {
            FP(MPI_Recv(&ready, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        for (;;) {
            pause(); /* whoever is told that it has failed would end with a signal */
        }
    }
    return fp_finish();
}
