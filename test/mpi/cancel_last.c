/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Sends that are cancelled and given up in the last moment before MPI_Finalize:
 * nobody waits for the answers, and nobody trips over them. */

#include "support/fp_test.h"

enum { TAG = 99, EACH = 5 };

int main(int argc, char **argv)
{
    enum { ATTACHED = 64 << 20 };
    static unsigned char buffer[1 << 20];
    void *attached = malloc(ATTACHED);

    fp_init(&argc, &argv, 2);
    FP(MPI_Buffer_attach(attached, ATTACHED));
    fp_case("the last moment");
    for (int i = 0; i < EACH * fp_few_size_count; i++) {
        const fp_mode_t *mode = &fp_modes[i % FP_READY];
        MPI_Request request;

        FP(mode->isend(buffer, (int) fp_few_sizes[i / EACH], MPI_BYTE, (fp_rank + 1 + i) % fp_size, TAG,
                       MPI_COMM_WORLD, &request));
        FP(MPI_Cancel(&request));
        FP(MPI_Request_free(&request));
    }
    return fp_finish_alone();
}
