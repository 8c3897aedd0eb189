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

/* What every process publishes: the version, and behind it the ends where it listens. */
typedef struct {
    uint32_t version;
    uint8_t ends[MCA_PML_FASTPATH_ENDS * sizeof(mca_pml_fastpath_end_t)];
} published_t;

int mca_pml_fastpath_jobs_publish(const mca_pml_fastpath_end_t *ends, size_t count)
{
    published_t published = {.version = MCA_PML_FASTPATH_WIRE_VERSION};
    const size_t size = count * sizeof(*ends);

    memcpy(published.ends, ends, size);
    return fastpath_modex_send(mca_pml_fastpath.component, &published, offsetof(published_t, ends) + size);
}

/* 0 when the process has no pml/fastpath */
static uint32_t wire_version(const opal_process_name_t *name)
{
    uint32_t version = 0;
    size_t size;
    void *data;

    if (OPAL_SUCCESS == fastpath_modex_recv(mca_pml_fastpath.component, name, &data, &size)) {
        if (sizeof(version) <= size) {
            memcpy(&version, data, sizeof(version));
        }
        free(data);
    }
    return version;
}

size_t mca_pml_fastpath_jobs_ends(const opal_process_name_t *name, mca_pml_fastpath_end_t **ends)
{
    size_t size, count;
    char *data;

    *ends = NULL;
    if (OPAL_SUCCESS != fastpath_modex_recv(mca_pml_fastpath.component, name, (void **) &data, &size)) {
        return 0;
    }
    count = offsetof(published_t, ends) > size ? 0 : (size - offsetof(published_t, ends)) / sizeof(**ends);
    if (0 < count) {
        *ends = malloc(count * sizeof(**ends));
    }
    if (NULL != *ends) {
        memcpy(*ends, data + offsetof(published_t, ends), count * sizeof(**ends));
    }
    free(data);
    return NULL == *ends ? 0 : count;
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

/* In MPI_Init all processes of a job have the same to say. Later only some of them may be concerned, perhaps
 * without the one that speaks; mpirun makes one text of theirs, but sometimes loses it. */
static void say(const char *topic, const char *ours, const char *theirs)
{
    if (mca_common_fastpath_reporting_rank()) {
        mca_common_fastpath_show_help("help-mpi-pml-fastpath.txt", topic, opal_process_info.nodename, ours,
                                      theirs);
    } else if (OMPI_MPI_STATE_INIT_COMPLETED <= ompi_mpi_state) {
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
        say("other pml", "fastpath", theirs);
    } else {
        snprintf(ours, sizeof(ours), "%u", MCA_PML_FASTPATH_WIRE_VERSION);
        snprintf(theirs, sizeof(theirs), "%u", version);
        say("other version", ours, theirs);
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
