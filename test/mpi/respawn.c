/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* respawn [CYCLES [EACH]]: spawn a job of EACH processes, talk, part, again and again.  What they occupied is
 * given back: descriptors, and places in the address space.  Another child, there all the time, is
 * not forgotten. */

#include <signal.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { TAG = 171, WARM = 5 };

/* Our own segment and those of others.  Open MPI's runtime maps files for each job too, and keeps them. */
static int count_segments(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[4096];
    int count = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        count += NULL != strstr(line, "memfd:fastsm");
    }
    if (NULL != file) {
        fclose(file);
    }
    return count;
}

/* With process PEER of the other side. */
static void exchange(MPI_Comm comm, int peer, bool first)
{
    static const size_t sizes[] = {0, 40, 400, 4000, 30000, 200000};

    for (int i = 0; i < 6; i++) {
        for (int side = 0; side < 2; side++) {
            if (first == (0 == side)) {
                fp_send(&fp_modes[FP_STANDARD], sizes[i], peer, TAG, i, comm);
            } else {
                fp_recv(sizes[i], peer, TAG, i, comm);
            }
        }
    }
}

static MPI_Comm spawn(char *program, char *role, int count)
{
    char *arguments[] = {role, NULL};
    MPI_Comm inter;

    FP(MPI_Comm_spawn(program, arguments, count, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                      MPI_ERRCODES_IGNORE));
    return inter;
}

static void parent(char *program, int cycles, int each)
{
    MPI_Comm lasting = spawn(program, "lasting", 1), inter;
    int descriptors = 0, segments = 0, go_on, pid = 0;

    for (int i = 0; i < cycles; i++) {
        fp_case("cycle %d", i);
        inter = spawn(program, "passing", each);
        for (int child = 0; child < each; child++) {
            FP(MPI_Recv(&pid, 1, MPI_INT, child, TAG, inter, MPI_STATUS_IGNORE));
            exchange(inter, child, true);
        }
        fp_disconnect(&inter);
        fp_wait_for_end(pid);
        go_on = i + 1 < cycles;
        FP(MPI_Send(&go_on, 1, MPI_INT, 0, TAG, lasting));
        exchange(lasting, 0, true);
        if (WARM == i) {
            descriptors = fp_descriptors();
            segments = count_segments();
        }
    }
    fp_case("what is left after %d cycles", cycles);
    if (WARM < cycles) {
        /* a child that is about to end may still be there */
        CHECK(fp_descriptors() <= descriptors + each + 5);
        CHECK(count_segments() <= segments + each);
        printf("# descriptors %d, later %d; segments %d, later %d\n", descriptors, fp_descriptors(), segments,
               count_segments());
    }
    fp_disconnect(&lasting);
}

static void lasting(MPI_Comm inter)
{
    int go_on = 1;

    while (go_on) {
        FP(MPI_Recv(&go_on, 1, MPI_INT, 0, TAG, inter, MPI_STATUS_IGNORE));
        exchange(inter, 0, false);
    }
    fp_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;

    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&inter));
    if (MPI_COMM_NULL == inter) {
        parent(argv[0], 1 < argc ? atoi(argv[1]) : 12, 2 < argc ? atoi(argv[2]) : 1);
        return fp_finish();
    }
    if (0 == strcmp(argv[1], "lasting")) {
        lasting(inter);
    } else {
        const int pid = (int) getpid();

        FP(MPI_Send(&pid, 1, MPI_INT, 0, TAG, inter));
        exchange(inter, 0, false);
        fp_disconnect(&inter);
    }
    return fp_finish_child();
}
