/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Memory for the data of messages that are kept until there is a receive for them, or until their turn.
 *
 * Blocks of 577 bytes to 4 MiB are used again, as long as few are not in use: malloc returns them to the
 * kernel, and a page that comes from there anew takes longer than what is copied to it.
 */
#ifndef MCA_PML_FASTPATH_KEPT_H
#define MCA_PML_FASTPATH_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/** Bytes of blocks that are not in use, at most; what is more goes back to malloc. Besides two of more than
 * 512 KiB each are kept. */
#define MCA_PML_FASTPATH_KEPT_SPARE ((size_t) 2 * 1024 * 1024)

/** Bytes of the longest that are kept. */
#define MCA_PML_FASTPATH_KEPT_LONGEST ((size_t) 4 * 1024 * 1024)

/** Begin without a block. */
void mca_pml_fastpath_kept_init(void);
/** Give malloc all blocks that are not in use. */
void mca_pml_fastpath_kept_fini(void);

/**
 * Get a block. Any thread may call this.
 * @return so many bytes, aligned as malloc does, to be given back by mca_pml_fastpath_kept_free(); or NULL:
 * no memory
 */
void *mca_pml_fastpath_kept_alloc(size_t bytes);

/**
 * Give a block back. Any thread may call this.
 * @param block  NULL: nothing happens
 * @param bytes  that were asked for
 */
void mca_pml_fastpath_kept_free(void *block, size_t bytes);

/**
 * Get a block for a message on its way, to be given back by mca_pml_fastpath_kept_give_back(): as
 * mca_pml_fastpath_kept_alloc(), but only as many at a time as can be kept afterwards, because the first use
 * of memory that is new costs more than a message in place of which it is.
 *
 * @param needed  there is no other way: in any case
 * @return the block; or NULL: no memory, or too many of them
 */
void *mca_pml_fastpath_kept_borrow(size_t bytes, bool needed);

/** Give such a block back. @param block  NULL: nothing happens */
void mca_pml_fastpath_kept_give_back(void *block, size_t bytes);

/** @return bytes of blocks that are not in use */
size_t mca_pml_fastpath_kept_spare(void);

#endif /* MCA_PML_FASTPATH_KEPT_H */
