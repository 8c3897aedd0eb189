/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Pages of shared memory: having them before they are touched, and where they are.
 */
#ifndef MCA_COMMON_FASTPATH_MEMORY_H
#define MCA_COMMON_FASTPATH_MEMORY_H

#include "opal_config.h"

#include <stddef.h>
#include <stdint.h>

/**
 * Make the pages that hold [address, address + length) of a writable shared mapping be there.  A page that
 * cannot be had when it is touched ends the process by SIGBUS; here it is an error.  What is there already
 * stays as it is.
 *
 * @return OPAL_SUCCESS; OPAL_ERR_NOT_SUPPORTED when the kernel cannot do that (before Linux 5.14), so that
 * the whole file has to be reserved when it is made; OPAL_ERR_OUT_OF_RESOURCE when there is no memory
 */
int mca_common_fastpath_reserve(void *address, size_t length);

/**
 * Ask that pages of a shared mapping be taken from the NUMA node that this thread runs on, where there is
 * room, whoever touches them first.  Where the kernel refuses, nothing happens.
 *
 * @param address  begin of a page
 */
void mca_common_fastpath_place_here(void *address, size_t length);

/**
 * Bytes of memory that this process can have before the kernel ends somebody for it: what the machine has
 * left, with its swap space, or less where a control group of this process allows less.  Files' pages that
 * the kernel can drop count as free, and swap space counts for no group.
 *
 * Whoever asks does not have it yet: others may take it meanwhile, and processes that ask at a time are all
 * told the same.  So it tells what is certainly too much, and no more.
 *
 * @param root  prefix of all paths: "" for the running system, or a directory with copies of /proc and of the
 *              control groups
 * @return      UINT64_MAX: nothing can be read
 */
uint64_t mca_common_fastpath_memory_available(const char *root);

#endif /* MCA_COMMON_FASTPATH_MEMORY_H */
