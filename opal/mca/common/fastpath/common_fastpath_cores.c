/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_fastpath_cores.h"

/* A hierarchy of control groups: where its files are, and which group of it is ours. */
typedef struct {
    char mount[PATH_MAX]; /* with the prefix; empty: it is not there */
    char top[PATH_MAX];   /* the group that is mounted there */
    char group[PATH_MAX]; /* ours, from the hierarchy's root */
} hierarchy_t;

enum { VERSION1, VERSION2, VERSIONS };

/* Those of both versions. Allocated: whoever waits looks at them, perhaps a thread with a small stack. */
typedef struct {
    const char *root;
    hierarchy_t hierarchies[VERSIONS];

    /* while files are read */
    char directory[2 * PATH_MAX];
    char name[2 * PATH_MAX + 32]; /* of one */
    char line[3 * PATH_MAX];      /* of it */
    char top[PATH_MAX];           /* words of a line */
    char point[PATH_MAX];
    char options[PATH_MAX];
} control_groups_t;

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
        set_path(groups->hierarchies[VERSION2].group, "", path);
    } else if (has_word(controllers, "cpu")) {
        set_path(groups->hierarchies[VERSION1].group, "", path);
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
        hierarchy = &groups->hierarchies[VERSION2];
    } else if (0 == strcmp(type, "cgroup") && has_word(groups->options, "cpu")) {
        hierarchy = &groups->hierarchies[VERSION1];
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

/* Reads the first two words of a file of the directory. Returns how many there are. */
static int read_words(control_groups_t *groups, const char *path, char words[2][32])
{
    FILE *stream = open_below(groups, groups->directory, path);
    int count = 0;

    if (NULL != stream) {
        count = fscanf(stream, "%31s %31s", words[0], words[1]);
        fclose(stream);
    }
    return count;
}

/* The limit of the directory's group in cores; 0: none. */
static double group_limit_of(control_groups_t *groups, int version)
{
    char quota[2][32], period[2][32];
    double time, of;

    if (VERSION2 == version) {
        if (2 != read_words(groups, "/cpu.max", quota)) {
            return 0;
        }
        time = strtod(quota[0], NULL); /* "max" is no number */
        of = strtod(quota[1], NULL);
    } else {
        if (1 > read_words(groups, "/cpu.cfs_quota_us", quota)
            || 1 > read_words(groups, "/cpu.cfs_period_us", period)) {
            return 0;
        }
        time = strtod(quota[0], NULL); /* -1: none */
        of = strtod(period[0], NULL);
    }
    return 0 < time && 0 < of ? time / of : 0;
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

/* The least limit of a hierarchy's groups from ours to the one that is mounted, and of `least`, where 0 is
 * none. */
static double least_limit(control_groups_t *groups, int version, double least)
{
    const hierarchy_t *hierarchy = &groups->hierarchies[version];
    const size_t mount = strlen(hierarchy->mount);
    char *last;

    if (0 == mount) {
        return least;
    }
    snprintf(groups->directory, sizeof(groups->directory), "%s%s", hierarchy->mount, below_mount(hierarchy));
    for (;;) {
        const double limit = group_limit_of(groups, version);

        if (0 < limit && (0 == least || limit < least)) {
            least = limit;
        }
        last = strrchr(groups->directory + mount, '/');
        if (NULL == last) {
            return least;
        }
        *last = '\0';
    }
}

double mca_common_fastpath_cores_quota(const char *root)
{
    control_groups_t *groups = calloc(1, sizeof(*groups));
    double least = 0;

    if (NULL == groups) {
        return 0;
    }
    groups->root = root;
    read_lines(groups, "/proc/self/cgroup", read_group);
    read_lines(groups, "/proc/self/mountinfo", read_mount);
    for (int version = VERSION1; version < VERSIONS; ++version) {
        least = least_limit(groups, version, least);
    }
    free(groups);
    return least;
}

/* @return whether everything is in a that is in b */
static bool contains(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_EQUAL(&both, b);
}

/* Processes that may run nowhere but on these cores, this one among them. */
static size_t count_within(const cpu_set_t *cores, size_t others, mca_common_fastpath_cores_mask_fn_t mask_of,
                           void *context)
{
    size_t count = 1;
    cpu_set_t mask;

    for (size_t i = 0; i < others; ++i) {
        count += mask_of(context, i, &mask) && contains(cores, &mask);
    }
    return count;
}

bool mca_common_fastpath_cores_short(const cpu_set_t *own, size_t others,
                                     mca_common_fastpath_cores_mask_fn_t mask_of, void *context)
{
    cpu_set_t reach = *own, mask, both;

    if (count_within(own, others, mask_of, context) > (size_t) CPU_COUNT(own)) {
        return true;
    }
    for (size_t i = 0; i < others; ++i) {
        if (mask_of(context, i, &mask)) {
            CPU_AND(&both, own, &mask);
            if (0 < CPU_COUNT(&both)) {
                CPU_OR(&reach, &reach, &mask);
            }
        }
    }
    return !CPU_EQUAL(&reach, own)
           && count_within(&reach, others, mask_of, context) > (size_t) CPU_COUNT(&reach);
}
