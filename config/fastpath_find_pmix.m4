# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# Where is pmix.h, which Open MPI's own headers include from 5.0 on?
#
# Adds the directory to OMPI_INCDIRS where it is not found without, and sets FASTPATH_PMIX_LIBS.  An Open MPI that
# brought its own PMIx has it beside mpi.h.
AC_DEFUN([FASTPATH_FIND_PMIX], [
AC_ARG_WITH([pmix],
    [AS_HELP_STRING([--with-pmix=PREFIX],
        [installation prefix of the PMIx that Open MPI 5.0 or newer uses (default: as pkg-config says)])],
    [], [with_pmix=yes])
FASTPATH_PMIX_LIBS=
AS_IF([test 4.1 != "$OMPI_SERIES"], [
    AC_MSG_CHECKING([for pmix.h])
    fastpath_saved_CPPFLAGS=$CPPFLAGS
    fastpath_pmix=none
    AS_CASE([$with_pmix],
        [yes|no],
            [fastpath_pmix_pkg=`${PKG_CONFIG:-pkg-config} --variable=includedir pmix 2>/dev/null`
             fastpath_candidates="'' $fastpath_pmix_pkg $OMPI_LIBDIR/pmix2/include $OMPI_LIBDIR/../../pmix2/include"],
        [fastpath_candidates=$with_pmix/include])
    for fastpath_candidate in $fastpath_candidates; do
        AS_IF([test "''" = "$fastpath_candidate"], [fastpath_flag=], [fastpath_flag="-isystem $fastpath_candidate"])
        CPPFLAGS="$fastpath_saved_CPPFLAGS $OMPI_INCDIRS $fastpath_flag"
        AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <pmix.h>]])], [fastpath_pmix=$fastpath_candidate; break])
    done
    CPPFLAGS=$fastpath_saved_CPPFLAGS
    AS_CASE([$fastpath_pmix],
        [none],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([pmix.h, which the headers of Open MPI $OMPI_VERSION include, was not found: install PMIx's headers (on Debian: apt install libpmix-dev) or say where they are with --with-pmix=PREFIX.])],
        ["''"],
            [AC_MSG_RESULT([beside mpi.h])],
        [AC_MSG_RESULT([$fastpath_pmix])
         OMPI_INCDIRS="$OMPI_INCDIRS -isystem $fastpath_pmix"
         FASTPATH_PMIX_LIBS="-L$fastpath_pmix/../lib -L$fastpath_pmix/../lib64"])
    FASTPATH_PMIX_LIBS="$FASTPATH_PMIX_LIBS -lpmix"
])
])
