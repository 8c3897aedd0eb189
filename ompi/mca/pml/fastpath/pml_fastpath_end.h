/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Where processes are reached by TCP: the sockets of ours that btl/tcp listens on, and those of others.
 *
 * btl/tcp keeps to itself which of its sockets listens where, and publishes it in a form of its own. So each
 * process publishes the ports of all its sockets that listen when the BTLs have been initialised, with the
 * addresses of its host; who reads them keeps those that occur in what btl/tcp has published of the same
 * process. A connection that has been accepted from one of our sockets is btl/tcp's; one to an address and
 * port of a peer is btl/tcp's, too, and leads to that peer.
 */
#ifndef MCA_PML_FASTPATH_END_H
#define MCA_PML_FASTPATH_END_H

#include "pml_fastpath.h"

#include "pml_fastpath_socket.h"

/** @return whether a BTL is btl/tcp */
static inline bool mca_pml_fastpath_is_tcp(const mca_btl_base_module_t *btl)
{
    return 0 == strcmp("tcp", btl->btl_component->btl_version.mca_component_name);
}

/**
 * Find where this process listens. To be called when the BTLs have been initialised, and before the modex.
 * @param ends  set to them
 * @return      how many there are; 0 without btl/tcp
 */
size_t mca_pml_fastpath_ends_find(const mca_pml_fastpath_end_t **ends);

/**
 * Where btl/tcp reaches a process. May wait for the answer of one that we have not met.
 *
 * @param ends  set to what leads to it from here, malloc'ed, or NULL
 * @return      how many there are
 */
size_t mca_pml_fastpath_ends_of(const opal_process_name_t *name, mca_pml_fastpath_end_t **ends);

/** @return whether this process can be reached by btl/tcp; not before the modex is complete */
bool mca_pml_fastpath_ends_any(void);

/** @return whether a connection with this local end has been accepted by btl/tcp; the same */
bool mca_pml_fastpath_ends_accept(const mca_pml_fastpath_end_t *local);

#endif /* MCA_PML_FASTPATH_END_H */
