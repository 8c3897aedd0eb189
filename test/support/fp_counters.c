/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "support/fp_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[FP_MOST_COUNTERS];
static const char *const *counter_names;
static int counters;

void fp_counters_open(int level, const char *const *names, int count)
{
    FP(MPI_T_init_thread(level, &level));
    FP(MPI_T_pvar_session_create(&session));
    counter_names = names;
    counters = count;
    for (int i = 0; i < count; i++) {
        int index, elements;

        if (MPI_SUCCESS != MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index)) {
            FP(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_SIZE, &index));
        }
        FP(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &elements));
        CHECK_INT(elements, 1);
    }
}

void fp_counters_close(void)
{
    for (int i = 0; i < counters; i++) {
        FP(MPI_T_pvar_handle_free(session, &handles[i]));
    }
    FP(MPI_T_pvar_session_free(&session));
    FP(MPI_T_finalize());
}

unsigned long fp_counter(int which)
{
    unsigned long value = 0;

    FP(MPI_T_pvar_read(session, handles[which], &value));
    return value;
}

fp_counts_t fp_counters_now(void)
{
    fp_counts_t counts;

    for (int i = 0; i < counters; i++) {
        counts.value[i] = fp_counter(i);
    }
    return counts;
}

fp_counts_t fp_counters_since(const fp_counts_t *before)
{
    fp_counts_t counts = fp_counters_now();

    for (int i = 0; i < counters; i++) {
        counts.value[i] -= before->value[i];
    }
    return counts;
}

void fp_check_counted(const fp_counts_t *before, int count, const int *which, const char *file, int line)
{
    const fp_counts_t counts = fp_counters_since(before);
    unsigned long wanted[FP_MOST_COUNTERS] = {0};

    for (; 0 <= *which; which++) {
        wanted[*which]++;
    }
    for (int i = 0; i < count; i++) {
        fp_check(counts.value[i] == wanted[i], file, line, "%s is %lu and not %lu", counter_names[i],
                 counts.value[i], wanted[i]);
    }
}

/* Where the two tell each other outside MPI: one makes a file, whose name the other one gets. */
static void meet(fp_away_t *away, int who, int tag)
{
    if (who != fp_rank) {
        const char *directory = getenv("TMPDIR");
        int fd;

        snprintf(away->path, sizeof(away->path), "%s/fastpath-away-XXXXXX",
                 NULL == directory ? "/tmp" : directory);
        fd = mkstemp(away->path);
        fp_check(0 <= fd, __FILE__, __LINE__, "%s: %s", away->path, strerror(errno));
        close(fd);
        FP(MPI_Send(away->path, sizeof(away->path), MPI_CHAR, who, tag, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(away->path, sizeof(away->path), MPI_CHAR, 1 - who, tag, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    }
}

void fp_leave(fp_away_t *away, int who, int tag)
{
    if (1 < fp_rank) {
        return;
    }
    meet(away, who, tag);
    fp_at(__FILE__, __LINE__, "the other rank, outside MPI");
    if (who != fp_rank) {
        while (0 == access(away->path, F_OK)) {
            int flag; /* the message may not have left yet */

            FP(MPI_Iprobe(who, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            fp_sleep_ms(1);
        }
    } else {
        CHECK_INT(unlink(away->path), 0);
        while (0 != access(away->path, F_OK)) {
            fp_sleep_ms(1);
        }
        CHECK_INT(unlink(away->path), 0);
    }
}

void fp_come_back(const fp_away_t *away)
{
    close(open(away->path, O_CREAT | O_WRONLY, 0600));
}
