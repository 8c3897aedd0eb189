/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which machine this is, and which of its namespaces a process is in: what tells containers of one machine
 * from several machines.
 */
#ifndef MCA_COMMON_FASTPATH_MACHINE_H
#define MCA_COMMON_FASTPATH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/** Bytes of a boot id. */
#define MCA_COMMON_FASTPATH_BOOT_ID_SIZE 16

/**
 * Which kernel runs here: a number that is new with every boot of every machine.
 *
 * @param id  receives it, or zeros
 * @return    false where the kernel does not say
 */
bool mca_common_fastpath_boot_id(uint8_t id[MCA_COMMON_FASTPATH_BOOT_ID_SIZE]);

/**
 * Which namespace of a kind this process is in. Two processes of one machine are in the same where both
 * numbers are equal.
 *
 * @param kind  "pid", "user", ..., as in /proc/self/ns
 * @return      its number; 0 for a kernel without such namespaces
 */
uint64_t mca_common_fastpath_namespace(const char *kind);

#endif /* MCA_COMMON_FASTPATH_MACHINE_H */
