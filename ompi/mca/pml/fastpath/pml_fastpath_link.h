/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Links: the TCP connections that btl/tcp has to peers on other hosts, and the memory that btl/fastsm shares
 * with processes of other jobs.
 *
 * btl/tcp tells nobody about its connections. They are found among the sockets of this process
 * (pml_fastpath_link_find.c), by calls of the operating system that change nothing.
 *
 * When the kernel gives up a connection, btl/tcp drops it and tells nobody: what
 * was on its way is lost, and all would wait for ever. So once a second, as long
 * as somebody here is in MPI, progress looks at these connections from the side.
 * The job ends
 *   - when the peer's kernel has answered nothing for pml_fastpath_link_timeout
 *     seconds although something was waiting for its answer (what we sent, an
 *     attempt to connect, or the keepalive probes that are switched on for idle
 *     connections), or
 *   - when a connection that has carried messages is there no longer, or
 *   - when a process of another job that we share memory with has ended without
 *     leaving MPI. That of a process of our own job is seen by the runtime.
 * With fault tolerance the peer is declared to have failed instead.
 * An attempt to connect that failed, which btl/tcp of Open MPI 4.1 would leave at that, is repeated.
 *
 * It is the peer's kernel that answers, not the peer: a process may compute, or be
 * stopped, for as long as it likes.
 */
#ifndef MCA_PML_FASTPATH_LINK_H
#define MCA_PML_FASTPATH_LINK_H

#include "pml_fastpath_link_find.h"

/** Called from progress every now and then: look at all links if it is time to. */
void mca_pml_fastpath_links_look(void);

/**
 * If this process is about to end, tell those of other jobs that it is connected to, so that the end of
 * the connections does not surprise them. Where btl/tcp does so this does nothing.
 */
void mca_pml_fastpath_links_leave(void);

/**
 * Have the BML delete these processes, which are no peers any more; at the end of this one those of other
 * jobs as well whose links would be closed later. What btl/tcp writes to say goodbye ends no process, even
 * where the kernel has heard that nobody will read it.
 */
int mca_pml_fastpath_links_close(ompi_proc_t **procs, size_t nprocs);

/**
 * MPI_Finalize has begun; called from each progress of then, and by mca_pml_fastpath_links_leave(). Others
 * may leave before us, while we still answer what they have asked, though they do not wait for it: a cancel,
 * say. From now on a connection without a reader ends nobody.
 */
void mca_pml_fastpath_links_end(void);

/** The BTLs have closed their connections: signals are as they were. */
void mca_pml_fastpath_links_ended(void);

/** A LEAVE has come. */
void mca_pml_fastpath_link_left(const mca_btl_base_module_t *btl, const mca_pml_fastpath_leave_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_LINK_H */
