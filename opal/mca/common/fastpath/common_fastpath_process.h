/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Memory of other processes of the node, copied by the kernel. Whether it permits that is found out by
 * trying: the functions print nothing.
 */
#ifndef MCA_COMMON_FASTPATH_PROCESS_H
#define MCA_COMMON_FASTPATH_PROCESS_H

#include "opal_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Let other processes of this user reach the memory of this one, where the kernel would not without being
 * told. Does nothing elsewhere.
 */
void mca_common_fastpath_process_permit(void);

/**
 * Read or write memory of another process.
 *
 * @param write   from `local` to `remote`; else the other way
 * @param local   memory here
 * @param remote  address in process `pid`
 * @param size    bytes
 *
 * @return whether all of it could be copied; errno says why not
 */
bool mca_common_fastpath_process_copy(pid_t pid, bool write, void *local, uint64_t remote, size_t size);

/**
 * Whether the kernel copies from memory of this process: not if it is secret, or a device's. Looks at the
 * first and the last byte.
 */
bool mca_common_fastpath_process_readable(const void *begin, size_t size);

/**
 * Whether a process has ended, also if its parent has not taken notice yet. Then the kernel refuses to say
 * what it has open, but for root, as if it still ran under another user.
 *
 * @return false where it runs, or that is not known
 */
bool mca_common_fastpath_process_ended(pid_t pid);

#endif /* MCA_COMMON_FASTPATH_PROCESS_H */
