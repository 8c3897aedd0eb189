/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "ompi/runtime/mpiruntime.h"

#include "pml_fastpath_hdr.h"
#include "pml_fastpath_jobs.h"

/* Under this key rank 0 of every job publishes its PML's name (ompi/mca/pml/base/pml_base_select.c). */
#define PML_KEY "pml.base.2.0"

/* What every process publishes. */
typedef struct {
    uint32_t version;
    uint32_t
        place_size; /* of the first part of the rest, where it runs; then come the ends where it listens */
    uint8_t rest[sizeof(mca_pml_fastpath_place_t) + MCA_PML_FASTPATH_ENDS * sizeof(mca_pml_fastpath_end_t)];
} published_t;

static mca_pml_fastpath_place_t own_place;

const mca_pml_fastpath_place_t *mca_pml_fastpath_place_own(void)
{
    return &own_place;
}

void mca_pml_fastpath_place_find(void)
{
    memset(&own_place, 0, sizeof(own_place));
    (void) mca_common_fastpath_boot_id(own_place.boot_id);
    if (0 != sched_getaffinity(0, sizeof(own_place.cores), &own_place.cores)) {
        CPU_ZERO(&own_place.cores); /* more cores than a cpu_set_t has room for */
    }
}

/* Bytes of a place that say something; those behind are zero. */
static size_t place_size_of(const mca_pml_fastpath_place_t *place)
{
    const uint8_t *bytes = (const uint8_t *) place;
    size_t size = sizeof(*place);

    while (offsetof(mca_pml_fastpath_place_t, cores) < size && 0 == bytes[size - 1]) {
        --size;
    }
    return size;
}

int mca_pml_fastpath_jobs_publish(const mca_pml_fastpath_end_t *ends, size_t count)
{
    const mca_pml_fastpath_place_t *place = mca_pml_fastpath_place_own();
    const size_t place_size = place_size_of(place), ends_size = count * sizeof(*ends);
    published_t published = {.version = MCA_PML_FASTPATH_WIRE_VERSION, .place_size = (uint32_t) place_size};

    memcpy(published.rest, place, place_size);
    memcpy(published.rest + place_size, ends, ends_size);
    return fastpath_modex_send(mca_pml_fastpath.component, &published,
                               offsetof(published_t, rest) + place_size + ends_size);
}

/* What a process has published, of which the version can be read: malloc'ed; NULL where it is nothing of
 * ours.
 * @param size  of all of it */
static published_t *published_of(const opal_process_name_t *name, size_t *size)
{
    published_t *published;

    if (OPAL_SUCCESS == fastpath_modex_recv(mca_pml_fastpath.component, name, (void **) &published, size)
        && sizeof(published->version) > *size) {
        free(published);
        published = NULL;
    }
    return published;
}

/* 0 when the process has no pml/fastpath */
static uint32_t wire_version(const opal_process_name_t *name)
{
    size_t size;
    published_t *published = published_of(name, &size);
    const uint32_t version = NULL == published ? 0 : published->version;

    free(published);
    return version;
}

/* The same, of which all can be read. @param ends_size  of its last part */
static published_t *readable_of(const opal_process_name_t *name, size_t *ends_size)
{
    size_t size;
    published_t *published = published_of(name, &size);

    if (NULL != published
        && (MCA_PML_FASTPATH_WIRE_VERSION != published->version || offsetof(published_t, rest) > size
            || sizeof(mca_pml_fastpath_place_t) < published->place_size
            || size - offsetof(published_t, rest) < published->place_size)) {
        free(published);
        published = NULL;
    }
    *ends_size = NULL == published ? 0 : size - offsetof(published_t, rest) - published->place_size;
    return published;
}

size_t mca_pml_fastpath_jobs_ends(const opal_process_name_t *name, mca_pml_fastpath_end_t **ends)
{
    size_t size;
    published_t *published = readable_of(name, &size);
    const size_t count = size / sizeof(**ends);

    *ends = 0 == count ? NULL : malloc(count * sizeof(**ends));
    if (NULL != *ends) {
        memcpy(*ends, published->rest + published->place_size, count * sizeof(**ends));
    }
    free(published);
    return NULL == *ends ? 0 : count;
}

bool mca_pml_fastpath_jobs_place(const opal_process_name_t *name, mca_pml_fastpath_place_t *place)
{
    size_t ends_size;
    published_t *published = readable_of(name, &ends_size);
    const bool known = NULL != published;

    memset(place, 0, sizeof(*place));
    if (known) {
        memcpy(place, published->rest, published->place_size);
    }
    free(published);
    return known;
}

static void pml_name(const opal_process_name_t *name, char *text, size_t room)
{
    const opal_process_name_t first = {.jobid = name->jobid, .vpid = 0};
    size_t size;
    void *data;

    snprintf(text, room, "unknown");
    if (OPAL_SUCCESS == fastpath_modex_recv_key(PML_KEY, &first, &data, &size)) {
        snprintf(text, room, "%.*s", (int) size, (const char *) data);
        free(data);
    }
}

/* In MPI_Init all processes of a job have the same to say, and end it. Later only some of them may be
 * concerned, perhaps without the one that speaks; mpirun makes one text of theirs, but sometimes loses it. */
static void say_mismatch(const char *topic, const char *ours, const char *theirs)
{
    if (OMPI_MPI_STATE_INIT_COMPLETED > ompi_mpi_state) {
        mca_common_fastpath_show_help_fatal("help-mpi-pml-fastpath.txt", topic, opal_process_info.nodename,
                                            ours, theirs);
    } else if (mca_common_fastpath_reporting_rank()) {
        mca_common_fastpath_show_help("help-mpi-pml-fastpath.txt", topic, opal_process_info.nodename, ours,
                                      theirs);
    } else {
        mca_common_fastpath_show_help_once("help-mpi-pml-fastpath.txt", topic, opal_process_info.nodename,
                                           ours, theirs);
    }
}

static int check_job(const opal_process_name_t *name)
{
    const uint32_t version = wire_version(name);
    char ours[32], theirs[64];

    if (MCA_PML_FASTPATH_WIRE_VERSION == version) {
        return OMPI_SUCCESS;
    }
    if (0 == version) {
        pml_name(name, theirs, sizeof(theirs));
        say_mismatch("other pml", "fastpath", theirs);
    } else {
        snprintf(ours, sizeof(ours), "%u", MCA_PML_FASTPATH_WIRE_VERSION);
        snprintf(theirs, sizeof(theirs), "%u", version);
        say_mismatch("other version", ours, theirs);
    }
    return OMPI_ERR_NOT_SUPPORTED;
}

int mca_pml_fastpath_jobs_check(ompi_proc_t **procs, size_t nprocs)
{
    opal_jobid_t known = opal_proc_local_get()->proc_name.jobid;
    const opal_jobid_t own = known;
    int rc = OMPI_SUCCESS;

    /* processes come job by job */
    for (size_t i = 0; i < nprocs && OMPI_SUCCESS == rc; ++i) {
        const opal_process_name_t *name = &procs[i]->super.proc_name;

        if (name->jobid != own && name->jobid != known) {
            rc = check_job(name);
            known = name->jobid;
        }
    }
    return rc;
}
