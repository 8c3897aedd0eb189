/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A tree of files that looks like what a kernel shows, for tests of what reads that. */
#ifndef SYSTEM_FIXTURE_H
#define SYSTEM_FIXTURE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[] = "system-XXXXXX";

static void put(const char *path, const char *text)
{
    char name[PATH_MAX];
    FILE *stream;

    snprintf(name, sizeof(name), "%s%s", root, path);
    for (char *at = strchr(name + strlen(root) + 1, '/'); NULL != at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void) mkdir(name, 0700);
        *at = '/';
    }
    stream = fopen(name, "w");
    assert_non_null(stream);
    assert_int_equal(fputs(text, stream) >= 0, 1);
    assert_int_equal(fclose(stream), 0);
}

static int make_root(void **state)
{
    (void) state;
    strcpy(root, "system-XXXXXX");
    return NULL == mkdtemp(root);
}

static int remove_root(void **state)
{
    char command[PATH_MAX];

    (void) state;
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

#define MOUNTS                                                                                               \
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"                                               \
    "23 22 0:5 / /proc rw - proc proc rw\n"

#endif /* SYSTEM_FIXTURE_H */
