# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# Where is Open MPI, and which one is it?
#
# Sets and substitutes MPICC, MPIRUN, OMPI_INFO (programs), OMPI_VERSION and OMPI_SERIES (4.1.4 and 4.1),
# OMPI_INCDIRS (its developer headers, then mpi.h), OMPI_LIBDIR, MPI_CFLAGS and MPI_LIBS (to build
# MPI programs with $CC).
AC_DEFUN([FASTPATH_FIND_OMPI], [
AC_ARG_WITH([ompi],
    [AS_HELP_STRING([--with-ompi=PREFIX-or-wrapper],
        [Open MPI's installation prefix or its C compiler wrapper (default: mpicc.openmpi or mpicc in PATH)])],
    [], [with_ompi=yes])

# What is found there is used in other directories, too.
AS_CASE([$with_ompi],
    [yes|no|/*], [],
    [*/*], [with_ompi=`pwd`/$with_ompi])

# A mpicc may be another MPI's (on Debian it is an alternatives link); only Open MPI's knows --showme.
AC_MSG_CHECKING([for Open MPI's C compiler wrapper])
AS_CASE([$with_ompi],
    [yes|no], [fastpath_candidates="mpicc.openmpi mpicc"],
    [AS_IF([test -d "$with_ompi"],
        [fastpath_candidates="$with_ompi/bin/mpicc.openmpi $with_ompi/bin/mpicc"],
        [fastpath_candidates=$with_ompi])])
MPICC=
for fastpath_candidate in $fastpath_candidates; do
    AS_CASE([`$fastpath_candidate --showme:version 2>/dev/null`],
        [*"Open MPI"*], [MPICC=`command -v $fastpath_candidate`; break])
done
AS_IF([test -z "$MPICC"],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([no C compiler wrapper of Open MPI's found (tried: $fastpath_candidates): install Open MPI (on Debian: apt install openmpi-bin libopenmpi-dev) or say where it is with --with-ompi=PREFIX-or-wrapper.])])
AC_MSG_RESULT([$MPICC])
fastpath_bindir=`AS_DIRNAME(["$MPICC"])`

AC_MSG_CHECKING([for ompi_info beside it])
OMPI_INFO=
for fastpath_candidate in "$fastpath_bindir/ompi_info" ompi_info; do
    AS_IF([command -v "$fastpath_candidate" >/dev/null 2>&1],
        [OMPI_INFO=`command -v "$fastpath_candidate"`; break])
done
AS_IF([test -z "$OMPI_INFO"],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([ompi_info, which knows where Open MPI keeps its plugins, was not found beside $MPICC: install the rest of Open MPI (on Debian: apt install openmpi-bin).])])
AC_MSG_RESULT([$OMPI_INFO])

AC_MSG_CHECKING([for Open MPI's mpirun])
MPIRUN=
for fastpath_candidate in "$fastpath_bindir/mpirun.openmpi" "$fastpath_bindir/mpirun" mpirun.openmpi mpirun; do
    AS_CASE([`"$fastpath_candidate" --version 2>/dev/null`],
        [*OpenRTE*|*"Open MPI"*], [MPIRUN=`command -v "$fastpath_candidate"`; break])
done
AS_IF([test -z "$MPIRUN"], [AC_MSG_RESULT([no; the tests cannot run])], [AC_MSG_RESULT([$MPIRUN])])

AC_MSG_CHECKING([for Open MPI's version])
[OMPI_VERSION=`$MPICC --showme:version | sed -n 's/.*Open MPI \([0-9][^ ]*\).*/\1/p'`]
[OMPI_SERIES=`echo "$OMPI_VERSION" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/'`]
AC_MSG_RESULT([$OMPI_VERSION])
AC_ARG_ENABLE([unknown-series],
    [AS_HELP_STRING([--enable-unknown-series],
        [build for a series of Open MPI that is newer than those we know])],
    [], [enable_unknown_series=no])
AC_MSG_CHECKING([for Open MPI's series])
AS_CASE([$OMPI_SERIES],
    [4.1|5.0|6.0],
        [AC_MSG_RESULT([$OMPI_SERIES])],
    [[[0-3].*|4.*]],
        [AC_MSG_RESULT([$OMPI_SERIES, too old])
         AC_MSG_ERROR([fastpath works with Open MPI 4.1, 5.0 and 6.0, but $MPICC belongs to Open MPI $OMPI_VERSION: install one of these (on Debian: apt install openmpi-bin libopenmpi-dev) and name it with --with-ompi=PREFIX-or-wrapper.])],
    [AS_IF([test no = "$enable_unknown_series"],
        [AC_MSG_RESULT([$OMPI_SERIES, unknown])
         AC_MSG_ERROR([fastpath knows Open MPI 4.1, 5.0 and 6.0, but $MPICC belongs to Open MPI $OMPI_VERSION, whose internal structures may differ: look for a newer fastpath, name an Open MPI of a known series with --with-ompi=PREFIX-or-wrapper, or, at your own risk, try it with --enable-unknown-series.])],
        [AC_MSG_RESULT([$OMPI_SERIES, unknown, treated like 6.0])])])

FASTPATH_OMPI_PATH([pkgincludedir], [fastpath_pkgincludedir])
FASTPATH_OMPI_PATH([incdir], [fastpath_incdir])
FASTPATH_OMPI_PATH([libdir], [OMPI_LIBDIR])
FASTPATH_OMPI_PATH([pkglibdir], [fastpath_pkglibdir])
OMPI_INCDIRS="-isystem $fastpath_pkgincludedir -isystem $fastpath_incdir"
MPI_CFLAGS=`$MPICC --showme:compile`
MPI_LIBS=`$MPICC --showme:link`

AC_SUBST([MPICC])
AC_SUBST([MPIRUN])
AC_SUBST([OMPI_INFO])
AC_SUBST([OMPI_VERSION])
AC_SUBST([OMPI_SERIES])
AM_CONDITIONAL([HAVE_OMPI_5_0], [test 4.1 != "$OMPI_SERIES"])
AC_SUBST([OMPI_INCDIRS])
AC_SUBST([OMPI_LIBDIR])
AC_SUBST([MPI_CFLAGS])
AC_SUBST([MPI_LIBS])
])

# FASTPATH_OMPI_PATH(WHICH, VARIABLE): one of the directories ompi_info knows.
AC_DEFUN([FASTPATH_OMPI_PATH], [
AC_MSG_CHECKING([for Open MPI's $1])
[$2=`$OMPI_INFO --path $1 --parsable 2>/dev/null | sed -n 's/^path:$1://p'`]
AC_MSG_RESULT([[$]$2])
])
