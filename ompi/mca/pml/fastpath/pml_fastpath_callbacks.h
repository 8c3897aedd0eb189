/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What is called when something of ours has come by a BTL: one function for each type of header.
 */
#ifndef MCA_PML_FASTPATH_CALLBACKS_H
#define MCA_PML_FASTPATH_CALLBACKS_H

#include "pml_fastpath.h"

/** Register the callbacks for all types with the BTLs there are. @return OMPI_SUCCESS, or the BML's error */
int mca_pml_fastpath_callbacks_register(void);

#endif /* MCA_PML_FASTPATH_CALLBACKS_H */
