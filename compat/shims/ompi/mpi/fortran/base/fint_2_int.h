/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Stand-in for a header that Open MPI does not install; ompi/op/op.h uses the two macros below.
 *
 * They are the identity where a Fortran INTEGER is a C int, which is what configure checks for.
 */
#ifndef FASTPATH_SHIM_FINT_2_INT_H
#define FASTPATH_SHIM_FINT_2_INT_H

#include "ompi_config.h"

#if OMPI_SIZEOF_FORTRAN_INTEGER != SIZEOF_INT
#    error "this Open MPI was built with a Fortran INTEGER that is not a C int"
#endif

#define OMPI_INT_2_FINT(a) (a)
#define OMPI_FINT_2_INT(a) (a)

#endif /* FASTPATH_SHIM_FINT_2_INT_H */
