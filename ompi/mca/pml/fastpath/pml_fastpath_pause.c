/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What a wait does that has found nothing: pml_fastpath_pause.h.
 *
 * Cores are short where there are more processes of ours than cores that they may run on, or than the control
 * group lets them use: that is counted. Where that does not say so and somebody takes the core from us while
 * we wait, it is found out whether yields help (pml_fastpath_others.h).
 */
#include "ompi_config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/base/mca_base_var_enum.h"
#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "opal/mca/common/fastpath/common_fastpath_cores.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"
#include "opal/runtime/opal_progress.h"

#include "pml_fastpath_neighbor.h"
#include "pml_fastpath_others.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_pause.h"

#define US UINT64_C(1000) /* in nanoseconds, as all times here */
#define MS (1000 * US)

/* Calls of opal_progress from one look at the clock to the next. */
#define LOOK_CALLS 63

/* The same while yields are measured; none in between where these calls take longer than LOOK_TIME. */
#define LOOK_CALLS_YIELDING 7

/* Time from one look at what the kernel says to the next. Below what makes a yield late (LATE in
 * pml_fastpath_others.c): short waits for the core add up from one look to the next. */
#define LOOK_TIME (500 * US)

/* Time from one count of processes and cores to the next: it starts with FIRST and doubles while it is below
 * DOUBLED_BELOW, which gives 128 ms; at least EACH per process counted. */
#define COUNT_TIME_FIRST         (2 * MS)
#define COUNT_TIME_DOUBLED_BELOW (100 * MS)
#define COUNT_TIME_EACH          (1 * MS)

/* Time for which a count looks up neighbors. */
#define FIND_TIME (200 * US)

/* We have waited so long for the core since the last look, and such a part of that time: it was no thread of
 * the kernel's. */
#define LOST_MIN   (500 * US)
#define LOST_PART  8

mca_pml_fastpath_pause_t mca_pml_fastpath_pause_state;

static struct {
    uint64_t looked;     /* at the kernel's word */
    uint64_t count_next; /* when to count processes and cores again */
    uint64_t count_time;
    bool counted_short; /* they are fewer cores */
    pid_t *pids;        /* processes of ours that share the machine */
    size_t num_pids;
    size_t max_pids;
    cpu_set_t own;

    mca_pml_fastpath_others_t others; /* who are not counted */
    int schedstat;                    /* what the kernel says of the thread `asks`; -1: nothing */
    const void *asks;                 /* its thread_, or NULL: no file is open */

    bool applied; /* opal_progress_yield_when_idle as we have set it last */
    volatile int busy;
} pause_;

/* What this thread has seen, and what the kernel has said of it. */
static _Thread_local struct {
    uint64_t clock;  /* at its last look */
    long switches;   /* times that the core was taken from it, until its last look */
    uint64_t waited; /* time that it has waited for a core, when that was asked last */
    uint64_t asked;  /* when that was; 0: never */
} thread_;

int mca_pml_fastpath_pause_register(const mca_base_component_t *component)
{
    static const mca_base_var_enum_value_t values[] = {{MCA_COMMON_FASTPATH_WAIT_AUTO, "auto"},
                                                       {MCA_COMMON_FASTPATH_WAIT_SPIN, "spin"},
                                                       {MCA_COMMON_FASTPATH_WAIT_YIELD, "yield"},
                                                       {MCA_COMMON_FASTPATH_WAIT_SLEEP, "sleep"},
                                                       {0, NULL}};
    mca_base_var_enum_t *modes = NULL;
    int rc = mca_base_var_enum_create("fastpath_wait_modes", values, &modes);

    if (OPAL_SUCCESS != rc) {
        return rc;
    }
    pause_.count_time = COUNT_TIME_FIRST;
    mca_pml_fastpath_others_init(&pause_.others);
    mca_pml_fastpath_pause_state.mode = MCA_COMMON_FASTPATH_WAIT_AUTO;
    rc = mca_base_component_var_register(
        component, "wait",
        "What a wait does after it has polled for some time. auto: it yields its core where there are more "
        "processes of the job than cores (by affinity, control groups and observation), and it sleeps after "
        "pml_fastpath_sleep_after if messages of all processes of the job can end the sleep; spin: it keeps "
        "its core; yield: it always yields its core; sleep: as auto, and it also sleeps, for short times, "
        "where messages cannot end the sleep, which makes them late by that. If mpi_yield_when_idle is "
        "given, auto yields as that says",
        MCA_BASE_VAR_TYPE_INT, modes, 0, MCA_BASE_VAR_FLAG_SETTABLE, OPAL_INFO_LVL_4,
        MCA_BASE_VAR_SCOPE_LOCAL, &mca_pml_fastpath_pause_state.mode);
    OBJ_RELEASE(modes);
    if (OPAL_ERR_VALUE_OUT_OF_BOUNDS == rc) {
        mca_common_fastpath_param_refuse(component, "wait", "auto, spin, yield or sleep", "auto");
        rc = OPAL_SUCCESS;
    }
    return 0 > rc ? rc : OPAL_SUCCESS;
}

/* ---- how many want how many cores ---- */

static bool mask_of(void *context, size_t index, cpu_set_t *mask)
{
    (void) context;
    return index < pause_.num_pids ? 0 == sched_getaffinity(pause_.pids[index], sizeof(*mask), mask)
                                   : mca_pml_fastpath_neighbor_cores(index - pause_.num_pids, mask);
}

/* The processes of ours that share memory with us; the others are neighbors. */
static size_t find_pids(void)
{
    const mca_btl_fastsm_ext_t *ext = mca_pml_fastpath.fastsm_ext;
    size_t count;

    if (NULL == ext) {
        return 0;
    }
    count = ext->pids(pause_.pids, pause_.max_pids);
    if (count > pause_.max_pids) {
        pid_t *more = realloc(pause_.pids, count * sizeof(*more));

        if (NULL == more) {
            return pause_.max_pids;
        }
        pause_.pids = more;
        pause_.max_pids = count;
        count = ext->pids(pause_.pids, pause_.max_pids);
    }
    return count < pause_.max_pids ? count : pause_.max_pids;
}

/* Whether there are fewer cores that processes of ours may run on than these. Neighbors are looked up only as
 * long as there are enough without them, and not for long. */
static bool affinity_is_short(uint64_t now)
{
    if (0 != sched_getaffinity(0, sizeof(pause_.own), &pause_.own)) {
        return false;
    }
    do {
        if (mca_common_fastpath_cores_short(&pause_.own, pause_.num_pids + mca_pml_fastpath_neighbors(),
                                            mask_of, NULL)) {
            return true;
        }
    } while (mca_pml_fastpath_neighbor_find(now + FIND_TIME));
    return false;
}

/* To read the files of the control groups takes 40 us, and longer where cores are short. */
static bool quota_is_short(void)
{
    const double quota = mca_common_fastpath_cores_quota("");

    return 0 < quota && quota < (double) (1 + pause_.num_pids);
}

/* @return whether there are fewer cores than processes of ours */
static bool count_short(uint64_t now)
{
    pause_.num_pids = find_pids();
    return affinity_is_short(now) || quota_is_short();
}

static void count_now_and_then(uint64_t now)
{
    if (now >= pause_.count_next) {
        const uint64_t least = pause_.num_pids * COUNT_TIME_EACH;

        pause_.counted_short = count_short(now);
        pause_.count_next =
            mca_common_fastpath_nanoseconds() + (pause_.count_time > least ? pause_.count_time : least);
        if (COUNT_TIME_DOUBLED_BELOW > pause_.count_time) {
            pause_.count_time *= 2;
        }
    }
}

/* ---- who else wants them ---- */

/* Closes the file that the kernel keeps about a thread. */
static void close_schedstat(void)
{
    if (NULL != pause_.asks) {
        close(pause_.schedstat);
        pause_.asks = NULL;
    }
}

/* Opens that of this thread, and keeps it open: opening and closing take five times what reading does. */
static bool open_schedstat(void)
{
    close_schedstat();
    pause_.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (0 > pause_.schedstat) {
        return false;
    }
    pause_.asks = &thread_;
    return true;
}

/* Reads that of this thread. Where one has ended in whose place this one is, it has to be opened anew. */
static bool read_schedstat(char *text, size_t size)
{
    ssize_t length = -1;

    if (&thread_ == pause_.asks) {
        length = pread(pause_.schedstat, text, size - 1, 0);
    }
    if (0 >= length && open_schedstat()) {
        length = pread(pause_.schedstat, text, size - 1, 0);
    }
    text[0 < length ? length : 0] = '\0';
    return 0 < length;
}

/* Time that this thread has waited for a core since it began; 0 where the kernel does not say. */
static uint64_t waited_for_core(void)
{
    uint64_t running, waited;
    char text[80];

    return read_schedstat(text, sizeof(text)) && 2 == sscanf(text, "%" SCNu64 " %" SCNu64, &running, &waited)
               ? waited
               : 0;
}

/* Time that this thread has waited for a core since it asked last. @param asked  when that was */
static uint64_t waited_since(uint64_t now, uint64_t *asked)
{
    const uint64_t before = thread_.waited;

    *asked = thread_.asked;
    thread_.waited = waited_for_core();
    thread_.asked = now;
    return 0 == *asked ? 0 : thread_.waited - before;
}

/* Whether somebody has had the core for long since we asked last, as far as we know. */
static bool has_lost(uint64_t now)
{
    uint64_t asked;
    const uint64_t waited = waited_since(now, &asked);

    return 0 == thread_.waited || (LOST_MIN < waited && (now - asked) / LOST_PART < waited);
}

/* Whether the core was taken from this thread since it asked last; of a yield that has met somebody, the
 * kernel says the same. */
static bool was_taken(void)
{
    const long before = thread_.switches;
    struct rusage usage;

    if (0 != getrusage(RUSAGE_THREAD, &usage)) {
        return false;
    }
    thread_.switches = usage.ru_nivcsw;
    return usage.ru_nivcsw > before;
}

/* A look at what the kernel has done with our core. While yields are measured each of them may be late. */
static void observe(uint64_t now)
{
    bool taken;

    if (mca_pml_fastpath_others_want(&pause_.others)) {
        uint64_t asked;
        const uint64_t waited = waited_since(now, &asked);

        mca_pml_fastpath_others_waited(&pause_.others, asked, now, waited);
        taken = 0 < waited || (0 == thread_.waited && was_taken());
    } else {
        taken = was_taken() && has_lost(now);
    }
    mca_pml_fastpath_others_look(&pause_.others, now, taken);
}

/* ---- what follows ---- */

/* mpi_yield_when_idle: what it says, and whether its user has said it. */
static bool told(bool *by_user)
{
    static int index = -1;
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    const bool *value = NULL;

    if (0 > index) {
        index = mca_base_var_find("ompi", "mpi", NULL, "yield_when_idle");
    }
    if (0 > index || OPAL_SUCCESS != mca_base_var_get_value(index, &value, &source, NULL) || NULL == value) {
        *by_user = false;
        return false;
    }
    *by_user = MCA_BASE_VAR_SOURCE_DEFAULT != source;
    return *value;
}

/* Whether processes of ours or others need this core. */
static bool find_out(uint64_t now)
{
    count_now_and_then(now);
    if (pause_.counted_short) {
        mca_pml_fastpath_others_forget(&pause_.others, now);
        return true;
    }
    observe(now);
    return mca_pml_fastpath_others_want(&pause_.others);
}

/* Whether waits shall yield. Where that is said nothing is found out. */
static bool shall_yield(uint64_t now)
{
    bool by_user;

    if (told(&by_user) || (opal_progress_yield_when_idle && !pause_.applied)) {
        return true; /* Open MPI has found out itself that there are too few slots */
    }
    switch (mca_pml_fastpath_pause_state.mode) {
    case MCA_COMMON_FASTPATH_WAIT_SPIN:
        return false;
    case MCA_COMMON_FASTPATH_WAIT_YIELD:
        return true;
    default:
        return !by_user && find_out(now);
    }
}

/* Calls of opal_progress until the next look at the clock. */
static int calls_until_look(uint64_t now)
{
    const uint64_t since = now - thread_.clock;

    thread_.clock = now;
    if (!mca_pml_fastpath_others_want(&pause_.others)) {
        return LOOK_CALLS;
    }
    return LOOK_TIME < since ? 0 : LOOK_CALLS_YIELDING;
}

static void look_at_cores(uint64_t now)
{
    if (shall_yield(now) != opal_progress_yield_when_idle) {
        pause_.applied = !opal_progress_yield_when_idle;
        (void) opal_progress_set_yield_when_idle(pause_.applied);
    }
}

void mca_pml_fastpath_pause_look(void)
{
    const uint64_t now = mca_common_fastpath_nanoseconds();

    if (OMPI_MPI_STATE_INIT_STARTED == ompi_mpi_state) {
        mca_pml_fastpath_pause_state.countdown = 0; /* Open MPI is still to set what we set: then at once */
        return;
    }
    mca_pml_fastpath_pause_state.countdown = calls_until_look(now);
    /* not while progress is made up for: nobody waits */
    if (now - pause_.looked < LOOK_TIME || (mca_pml_fastpath_pace.making_up && !opal_using_threads())) {
        return;
    }
    if (!opal_using_threads() || 0 == __atomic_exchange_n(&pause_.busy, 1, __ATOMIC_ACQUIRE)) {
        pause_.looked = now;
        look_at_cores(now);
        __atomic_store_n(&pause_.busy, 0, __ATOMIC_RELEASE);
    }
}

void mca_pml_fastpath_progress_only(void)
{
    mca_pml_fastpath_pause_state.keeps_core = true;
    (void) opal_progress();
}

/* opal_progress would give the core away though a message has come: it does not know what the event library
 * has called, as for one by btl/tcp. */
void mca_pml_fastpath_pause_short(const ompi_request_t *request)
{
    unsigned long before;

    if (OPAL_UNLIKELY(opal_using_threads())) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_YIELDS);
        (void) opal_progress();
        return;
    }
    before = mca_pml_fastpath_arrived();
    mca_pml_fastpath_progress_only();
    /* what nobody has sent us may complete, too: a collective's request */
    if (before == mca_pml_fastpath_arrived() && (NULL == request || !REQUEST_COMPLETE(request))) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_YIELDS);
        (void) sched_yield();
    }
}

void mca_pml_fastpath_pause_fini(void)
{
    close_schedstat();
    free(pause_.pids);
    pause_.pids = NULL;
    pause_.num_pids = pause_.max_pids = 0;
}
