/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_fastpath_groups.h"

/* A hierarchy of control groups: where its files are, and which group of it is ours. */
typedef struct {
    char mount[PATH_MAX]; /* with the prefix; empty: it is not there */
    char top[PATH_MAX];   /* the group that is mounted there */
    char group[PATH_MAX]; /* ours, from the hierarchy's root */
} hierarchy_t;

/* Those of both versions. Allocated: whoever waits looks at them, perhaps a thread with a small stack. */
struct mca_common_fastpath_groups_t {
    const char *root;
    const char *controller;
    hierarchy_t hierarchies[2];

    /* while files are read */
    char directory[2 * PATH_MAX];
    char name[2 * PATH_MAX + 32]; /* of one */
    char line[3 * PATH_MAX];      /* of it */
    char top[PATH_MAX];           /* words of a line */
    char point[PATH_MAX];
    char options[PATH_MAX];
};

typedef mca_common_fastpath_groups_t control_groups_t;

/* @return whether it is one of the words, which are separated by commas */
static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = words; NULL != at; at = strchr(at, ',')) {
        at += ',' == *at;
        if (0 == strncmp(at, word, length) && ('\0' == at[length] || ',' == at[length])) {
            return true;
        }
    }
    return false;
}

/* The first one counts, if it is not too long. */
static void set_path(char path[PATH_MAX], const char *prefix, const char *rest)
{
    if ('\0' == path[0] && PATH_MAX <= snprintf(path, PATH_MAX, "%s%s", prefix, rest)) {
        path[0] = '\0';
    }
}

/* Which group is ours: lines of /proc/self/cgroup are NUMBER:CONTROLLERS:PATH, without controllers for
 * version 2. */
static void read_group(control_groups_t *groups)
{
    char *controllers = strchr(groups->line, ':');
    char *path = NULL == controllers ? NULL : strchr(++controllers, ':');

    if (NULL == path) {
        return;
    }
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if ('\0' == *controllers) {
        set_path(groups->hierarchies[MCA_COMMON_FASTPATH_GROUPS_V2].group, "", path);
    } else if (has_word(controllers, groups->controller)) {
        set_path(groups->hierarchies[MCA_COMMON_FASTPATH_GROUPS_V1].group, "", path);
    }
}

/* Where its files are. Lines of /proc/self/mountinfo are ID PARENT DEVICE TOP MOUNT OPTIONS [FIELDS] - TYPE
 * SOURCE OPTIONS. */
static void read_mount(control_groups_t *groups)
{
    const char *rest = strstr(groups->line, " - ");
    hierarchy_t *hierarchy;
    char type[64];

    if (NULL == rest || 2 != sscanf(groups->line, "%*s %*s %*s %4095s %4095s", groups->top, groups->point)
        || 2 != sscanf(rest, " - %63s %*s %4095s", type, groups->options)) {
        return;
    }
    if (0 == strcmp(type, "cgroup2")) {
        hierarchy = &groups->hierarchies[MCA_COMMON_FASTPATH_GROUPS_V2];
    } else if (0 == strcmp(type, "cgroup") && has_word(groups->options, groups->controller)) {
        hierarchy = &groups->hierarchies[MCA_COMMON_FASTPATH_GROUPS_V1];
    } else {
        return;
    }
    set_path(hierarchy->top, "", groups->top);
    set_path(hierarchy->mount, groups->root, groups->point);
}

static FILE *open_below(control_groups_t *groups, const char *directory, const char *path)
{
    const int length = snprintf(groups->name, sizeof(groups->name), "%s%s", directory, path);

    return (int) sizeof(groups->name) > length ? fopen(groups->name, "r") : NULL;
}

static void read_lines(control_groups_t *groups, const char *path, void (*read_line)(control_groups_t *))
{
    FILE *stream = open_below(groups, groups->root, path);

    if (NULL != stream) {
        while (NULL != fgets(groups->line, sizeof(groups->line), stream)) {
            read_line(groups);
        }
        fclose(stream);
    }
}

FILE *mca_common_fastpath_groups_open(mca_common_fastpath_groups_t *groups, const char *name)
{
    return open_below(groups, groups->directory, name);
}

/* The part of our group's path that lies below the mount; the group itself is mounted where a container
 * shows no more. */
static const char *below_mount(const hierarchy_t *hierarchy)
{
    const size_t length = strlen(hierarchy->top);

    if (0 == strcmp(hierarchy->top, "/")) {
        return hierarchy->group;
    }
    return 0 == strncmp(hierarchy->group, hierarchy->top, length)
                   && ('/' == hierarchy->group[length] || '\0' == hierarchy->group[length])
               ? hierarchy->group + length
               : "";
}

/* The least limit of a hierarchy's groups from ours to the one that is mounted, and of `least`. */
static double min_limit(control_groups_t *groups, mca_common_fastpath_groups_version_t version,
                        mca_common_fastpath_groups_limit_fn_t limit_of, double least)
{
    const hierarchy_t *hierarchy = &groups->hierarchies[version];
    const size_t mount = strlen(hierarchy->mount);
    char *last;

    if (0 == mount) {
        return least;
    }
    snprintf(groups->directory, sizeof(groups->directory), "%s%s", hierarchy->mount, below_mount(hierarchy));
    for (;;) {
        const double limit = limit_of(groups, version);

        if (limit < least) {
            least = limit;
        }
        last = strrchr(groups->directory + mount, '/');
        if (NULL == last) {
            return least;
        }
        *last = '\0';
    }
}

double mca_common_fastpath_groups_min(const char *root, const char *controller,
                                      mca_common_fastpath_groups_limit_fn_t limit_of)
{
    control_groups_t *groups = calloc(1, sizeof(*groups));
    double least = HUGE_VAL;

    if (NULL == groups) {
        return HUGE_VAL;
    }
    groups->root = root;
    groups->controller = controller;
    read_lines(groups, "/proc/self/cgroup", read_group);
    read_lines(groups, "/proc/self/mountinfo", read_mount);
    least = min_limit(groups, MCA_COMMON_FASTPATH_GROUPS_V1, limit_of, least);
    least = min_limit(groups, MCA_COMMON_FASTPATH_GROUPS_V2, limit_of, least);
    free(groups);
    return least;
}
