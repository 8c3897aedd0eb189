/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * A communicator has become known: what waited for it is delivered.
 */
#ifndef MCA_PML_FASTPATH_ADOPT_H
#define MCA_PML_FASTPATH_ADOPT_H

#include "pml_fastpath_hdr.h"

/** An EXTCID has come. Not to be called with a lock held. */
void mca_pml_fastpath_extcid_arrived(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                     size_t num_segments);

/** A KNOWN has come by a BTL. */
void mca_pml_fastpath_known_arrived(const mca_btl_base_module_t *btl,
                                    const mca_pml_fastpath_known_hdr_t *hdr);

/** Deliver the messages that came before the communicator was ready to receive. */
void mca_pml_fastpath_extcid_adopt(ompi_communicator_t *comm);

/** Deliver the messages that came before the communicator's id was known here. */
void mca_pml_fastpath_pending_adopt(ompi_communicator_t *comm);

/** Prepare for messages that come early; at mca_pml_fastpath_enable(). */
void mca_pml_fastpath_adopt_init(void);
/** Forget those that nobody has asked for; at mca_pml_fastpath_close(). */
void mca_pml_fastpath_adopt_fini(void);

#endif /* MCA_PML_FASTPATH_ADOPT_H */
