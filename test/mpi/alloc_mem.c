/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Alloc_mem with and without hints for an mpool: memory of every size, used
 * for messages, freed in another order; some of it longer than the segment that is asked for. */

#include "support/fp_test.h"

enum { TAG = 151, SEGMENT = 65536 };

/* Nobody frees the segment of an allocation that was refused. */
static void too_long(MPI_Info info)
{
    const int before = fp_descriptors();

    for (int i = 0; i < 20; i++) {
        void *memory;

        FP(MPI_Alloc_mem(2 * SEGMENT, info, &memory));
        CHECK(before == fp_descriptors());
        FP(MPI_Free_mem(memory));
    }
}

/* What is freed is gone. */
static void nothing_stays(MPI_Info info)
{
    int before = 0;

    for (int i = 0; i < 20; i++) {
        void *memory;

        FP(MPI_Alloc_mem(SEGMENT / 2, info, &memory));
        FP(MPI_Free_mem(memory));
        if (0 == i) {
            before = fp_descriptors();
        }
        CHECK_INT(fp_descriptors(), before);
    }
}

int main(int argc, char **argv)
{
    static const char *const hints[] = {NULL, "mpool=fastsm", "mpool=fastsm,segment_size=65536",
                                        "mpool=nonexistent"};
    enum { HINTS = sizeof(hints) / sizeof(hints[0]), BLOCKS = 8 };

    fp_init(&argc, &argv, 1);
    for (int h = 0; h < HINTS; h++) {
        unsigned char *blocks[BLOCKS];
        MPI_Info info = MPI_INFO_NULL;

        fp_case("hints %s", (NULL == hints[h]) ? "none" : hints[h]);
        if (NULL != hints[h]) {
            FP(MPI_Info_create(&info));
            FP(MPI_Info_set(info, "mpool_hints", hints[h]));
        }
        for (int i = 0; i < BLOCKS; i++) {
            size_t length = fp_few_sizes[i % fp_few_size_count];

            FP(MPI_Alloc_mem((MPI_Aint) length, info, &blocks[i]));
            fp_fill(blocks[i], length, fp_key(fp_rank, h, TAG, i));
        }
        for (int i = 0; i < BLOCKS; i++) { /* none of them overlap */
            size_t length = fp_few_sizes[i % fp_few_size_count];

            CHECK_DATA(blocks[i], length, fp_key(fp_rank, h, TAG, i));
            FP(MPI_Sendrecv_replace(blocks[i], (int) length, MPI_BYTE, (fp_rank + 1) % fp_size, TAG,
                                    (fp_rank + fp_size - 1) % fp_size, TAG, MPI_COMM_WORLD,
                                    MPI_STATUS_IGNORE));
            CHECK_DATA(blocks[i], length, fp_key((fp_rank + fp_size - 1) % fp_size, h, TAG, i));
        }
        for (int i = 0; i < BLOCKS; i++) {
            FP(MPI_Free_mem(blocks[(i * 3) % BLOCKS]));
        }
        too_long(info);
        nothing_stays(info);
        if (MPI_INFO_NULL != info) {
            FP(MPI_Info_free(&info));
        }
    }
    return fp_finish();
}
