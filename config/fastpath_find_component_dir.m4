# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# Where do the components, their help texts and the programs go?
AC_DEFUN([FASTPATH_FIND_COMPONENT_DIR], [
AC_ARG_WITH([component-dir],
    [AS_HELP_STRING([--with-component-dir=DIR],
        [where the components go (default: Open MPI's own plugin directory); the word "user" means ~/.openmpi/components])],
    [], [with_component_dir=yes])
FASTPATH_HELP_DIR='${datadir}/fastpath'
FASTPATH_BIN_DIR='${bindir}'
AS_CASE([$with_component_dir],
    [yes|no],
        [AS_IF([test -z "$fastpath_pkglibdir"],
            [AC_MSG_ERROR([$OMPI_INFO does not say where Open MPI's plugins are: name the directory with --with-component-dir=DIR.])])
         FASTPATH_COMPONENT_DIR=$fastpath_pkglibdir],
    [user],
        [FASTPATH_COMPONENT_DIR=$HOME/.openmpi/components
         FASTPATH_HELP_DIR=$HOME/.openmpi/share/fastpath
         FASTPATH_BIN_DIR=$HOME/.openmpi/bin],
    [/*],
        [FASTPATH_COMPONENT_DIR=$with_component_dir],
    [AC_MSG_ERROR([--with-component-dir takes an absolute directory or the word user, not "$with_component_dir".])])
AC_SUBST([FASTPATH_COMPONENT_DIR])
AC_SUBST([FASTPATH_HELP_DIR])
AC_SUBST([FASTPATH_BIN_DIR])
])
