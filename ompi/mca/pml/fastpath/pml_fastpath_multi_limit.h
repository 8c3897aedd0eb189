/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * pml_fastpath_multi_eager_limits: which transports send messages in several eager fragments, and how long
 * ones.
 */
#ifndef MCA_PML_FASTPATH_MULTI_LIMIT_H
#define MCA_PML_FASTPATH_MULTI_LIMIT_H

#include <stddef.h>

/** BTLs that the parameter may name. */
#define MCA_PML_FASTPATH_MULTI_BTLS 16

/** What it says of one. */
typedef struct mca_pml_fastpath_multi_limit_t {
    char name[32]; /**< of the BTL's component */
    size_t limit;  /**< bytes of the longest message that goes so */
} mca_pml_fastpath_multi_limit_t;

/**
 * Read the parameter. A text that cannot be read is announced, and stands for none.
 *
 * @param text    "name:bytes,...", or NULL
 * @param limits  receives MCA_PML_FASTPATH_MULTI_BTLS of them at the most
 * @return        how many
 */
size_t mca_pml_fastpath_multi_limits_read(const char *text, mca_pml_fastpath_multi_limit_t *limits);

#endif /* MCA_PML_FASTPATH_MULTI_LIMIT_H */
