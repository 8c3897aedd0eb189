# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# Do Open MPI's developer headers compile, with our stand-ins for those it never installs?
AC_DEFUN([FASTPATH_CHECK_HEADERS], [
fastpath_saved_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS $OMPI_INCDIRS -isystem $srcdir/compat/shims"
AC_MSG_CHECKING([whether Open MPI's developer headers compile])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include "ompi_config.h"
#include "opal/mca/btl/btl.h"
#include "opal/mca/mpool/mpool.h"
#include "opal/util/proc.h"
#include "ompi/mca/bml/bml.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/pml/base/pml_base_sendreq.h"
#include "ompi/mca/pml/base/pml_base_recvreq.h"
]], [[]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([Open MPI's developer headers (opal_config.h, opal/mca/btl/btl.h, ompi/mca/pml/pml.h and what they include) do not compile, see config.log: install them (on Debian: apt install libopenmpi-dev; elsewhere an Open MPI configured with --with-devel-headers).])])
CPPFLAGS=$fastpath_saved_CPPFLAGS
])
