/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What pml_fastpath_verbose prints: by which transports processes are reached, and whether the kernel copies
 * their messages.
 */
#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/output.h"

#include "pml_fastpath_peer.h"

enum { TEXT_MAX = 160 };

/** processes about which there is the same to say */
typedef struct {
    char text[TEXT_MAX];
    size_t count;
} class_t;

/* What single copy there is with a peer, from our side; it says itself what it may do. */
static void say_copies(char *text, size_t size, const mca_pml_fastpath_peer_t *peer)
{
    mca_btl_fastsm_copies_t copies;

    peer->ext->copies(peer->btl_endpoint, &copies);
    if (!copies.wanted) {
        snprintf(text, size, "no single copy: btl_fastsm_single_copy is 0");
    } else if (!copies.reads) {
        snprintf(text, size, "no single copy: process_vm_readv: %s",
                 0 == copies.error ? "not this process" : strerror(copies.error));
    } else {
        snprintf(text, size, "single copy%s: we read%s", copies.smsc ? " (smsc)" : "",
                 copies.writes ? " and write" : ", and cannot write");
    }
}

static void describe_process(char text[TEXT_MAX], ompi_proc_t *proc)
{
    mca_pml_fastpath_peer_t *peer = mca_pml_fastpath_peer_get(proc);
    size_t length = 0;

    snprintf(text, TEXT_MAX, "no transport");
    if (NULL == peer) {
        return;
    }
    if (mca_pml_fastpath_peer_reach(peer)) {
        mca_bml_base_btl_array_t *btls = &peer->endpoint->btl_send;

        for (size_t i = 0; i < mca_bml_base_btl_array_get_size(btls) && length < TEXT_MAX; ++i) {
            const mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(btls, i);

            length += (size_t) snprintf(text + length, TEXT_MAX - length, "%sbtl/%s", 0 == i ? "" : ", ",
                                        bml_btl->btl->btl_component->btl_version.mca_component_name);
        }
        if (NULL != peer->ext && length + 2 < TEXT_MAX) {
            length += (size_t) snprintf(text + length, TEXT_MAX - length, "; ");
            say_copies(text + length, TEXT_MAX - length, peer);
        }
    }
    OBJ_RELEASE(peer);
}

/* Counts a process in its class, which is made if there is none. */
static size_t count(class_t *classes, size_t num, const char *text)
{
    size_t i = 0;

    while (i < num && 0 != strcmp(classes[i].text, text)) {
        ++i;
    }
    if (i == num) {
        snprintf(classes[i].text, sizeof(classes[i].text), "%s", text);
        classes[i].count = 0;
        ++num;
    }
    ++classes[i].count;
    return num;
}

void mca_pml_fastpath_say(ompi_proc_t **procs, size_t nprocs)
{
    class_t *classes = malloc(nprocs * sizeof(*classes));
    size_t num = 0;

    for (size_t i = 0; NULL != classes && i < nprocs; ++i) {
        char text[TEXT_MAX];

        if (ompi_proc_local() != procs[i]) {
            describe_process(text, procs[i]);
            num = count(classes, num, text);
        }
    }
    for (size_t i = 0; i < num; ++i) {
        opal_output(0, "pml:fastpath: %zu process%s: %s", classes[i].count, 1 == classes[i].count ? "" : "es",
                    classes[i].text);
    }
    free(classes);
}
