/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Progress while a process waits in the runtime for other processes.
 *
 * MPI_Comm_disconnect, MPI_Comm_accept and MPI_Comm_connect of Open MPI 4.1 wait in the runtime (fence,
 * lookup and connect of opal_pmix), and nobody calls opal_progress meanwhile.  Who is waited for may need
 * us first: for the rest of a message whose receive is posted here, for the answer to a cancel, or for what
 * a BTL had no room for and keeps.  MPI promises that they get it (MPI 3.1, 3.5 and 3.7.4: progress).
 *
 * So these three are made by a thread that has nothing else to do, and who called them calls opal_progress
 * until it has ended, as MPI_Finalize does in a fence of its own.  (The runtime has forms that do not block,
 * but that of lookup does not tell what it has found: lk_cbfunc of pmix/ext3x reads a status that nobody
 * sets.)  The other operations of the runtime wait for nobody but the runtime.
 *
 * Open MPI 5.0 and later call the runtime directly, so there is nothing to replace, and these functions do
 * nothing.
 */
#ifndef COMMON_FASTPATH_RUNTIME_H
#define COMMON_FASTPATH_RUNTIME_H

/**
 * Make waits for the runtime call progress from now on.  One component of a process at a time: with two of
 * them, the thread that waits would call progress, too.
 */
void mca_common_fastpath_runtime_install(void);

/** Undo install; does nothing if there was none.  Before the component is unloaded. */
void mca_common_fastpath_runtime_remove(void);

#endif /* COMMON_FASTPATH_RUNTIME_H */
