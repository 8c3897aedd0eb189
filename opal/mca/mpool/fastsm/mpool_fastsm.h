/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A memory pool that makes shared segments of the size its user computed.
 *
 * btl/fastsm asks for a segment with
 *
 *     mca_mpool_base_module_lookup("mpool=fastsm,segment_size=BYTES,reserve=BYTES,processes=N")
 *
 * and finds in the derived module what the general interface cannot say:
 * where the segment is, how long, and by which descriptor a peer opens it.  `reserve` bytes at its
 * begin have their pages, the rest is reserved by its users before they touch it; without that hint all
 * of it is there.  `processes` on the node need as much each.
 */

#ifndef MCA_MPOOL_FASTSM_H
#define MCA_MPOOL_FASTSM_H

#include "opal_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/class/opal_list.h"
#include "opal/mca/mpool/mpool.h"

/** the bytes "fastsmM2" as a little-endian number */
#define MCA_MPOOL_FASTSM_MAGIC UINT64_C(0x324d6d7374736166)

/** length of the name of a directory, and of a file in it, with the 0 at its end */
#define MCA_MPOOL_FASTSM_DIRECTORY_MAX 192
#define MCA_MPOOL_FASTSM_PATH_MAX      256

typedef struct {
    mca_mpool_base_component_t super;
    size_t min_size;      /**< parameter: a segment is at least this long, bytes */
    size_t max_size;      /**< parameter: and at most this long; 0 is no limit */
    char *backing;        /**< parameter: where the files are, in order of preference */
    bool reserve_all;     /**< parameter: whole segments have their pages from the start */
    opal_list_t segments; /**< all living segments, see mca_mpool_fastsm_segment_t */
    opal_mutex_t lock;    /**< protects the list and `taken` of its items */
} mca_mpool_fastsm_component_t;

/** where files with names are */
typedef struct {
    char path[MCA_MPOOL_FASTSM_DIRECTORY_MAX];
    uint64_t device; /**< with `inode`, which directory that is: the same for all processes of the machine */
    uint64_t inode;
} mca_mpool_fastsm_directory_t;

/** a file without a name, and where it is mapped */
typedef struct {
    void *base;    /**< mapped read and write, zeroed; NULL: there is none */
    size_t size;   /**< bytes, the length of the file */
    size_t first;  /**< bytes at its begin that have their pages */
    int fd;        /**< closed on exec; -1: there is none */
    int lock_fd;   /**< holds the lock of the file with a name; -1: there was never one */
    char *path;    /**< its name at the moment; NULL: it has none */
    char why[128]; /**< what was wrong, if it could not be made */
} mca_mpool_fastsm_file_t;

struct mca_mpool_fastsm_module_t;

/** what can be done about names; a table, because the user is another shared object */
typedef struct {
    /**
     * The first directory of mpool_fastsm_backing in which files can have names.  One process of the node
     * also removes names there that processes of this user have left when they were killed.
     *
     * @return whether there is one
     */
    bool (*directory)(mca_mpool_fastsm_directory_t *directory);
    /** The path of a name in a directory. */
    void (*path)(char path[MCA_MPOOL_FASTSM_PATH_MAX], const char *directory, uint64_t name);
    /**
     * Gives a segment a file with a name.  Address, contents and descriptor number stay; nobody may have
     * opened the segment so far.
     *
     * @param processes  on the node that need as much
     * @return           OPAL_SUCCESS; OPAL_ERR_OUT_OF_RESOURCE when the segment is as it was, and what has
     *                   the name, if anything, is an empty file
     */
    int (*give)(struct mca_mpool_fastsm_module_t *module, const mca_mpool_fastsm_directory_t *directory,
                uint64_t name, unsigned processes);
    /** Takes the name away, if there is one. */
    void (*take)(struct mca_mpool_fastsm_module_t *module);
    /** Whether the process lives that gave the name by which this descriptor was opened. */
    bool (*held)(int fd);
} mca_mpool_fastsm_names_t;

/**
 * One segment and the module that stands for it.  Owned by the component's
 * list; released by mpool_finalize or, at the latest, when the component closes.
 */
typedef struct mca_mpool_fastsm_module_t {
    mca_mpool_base_module_t super;
    uint64_t magic; /**< MCA_MPOOL_FASTSM_MAGIC */
    mca_mpool_fastsm_file_t file;
    const mca_mpool_fastsm_names_t *names;
    bool taken; /**< mpool_alloc has handed the segment out, or refused and ended it */
    void *item; /**< list item that refers to this module */
} mca_mpool_fastsm_module_t;

/** list item of the component's list of segments */
typedef struct {
    opal_list_item_t super;
    mca_mpool_fastsm_module_t *module;
} mca_mpool_fastsm_segment_t;

OBJ_CLASS_DECLARATION(mca_mpool_fastsm_segment_t);

OPAL_DECLSPEC extern mca_mpool_fastsm_component_t mca_mpool_fastsm_component;

/** what somebody wants */
typedef struct {
    size_t size;        /**< bytes, at least */
    size_t reserve;     /**< bytes at the begin that have their pages at once */
    unsigned processes; /**< that need as much on this node */
    bool quiet;         /**< a failure needs no help text: less will do */
} mca_mpool_fastsm_demand_t;

/**
 * Makes a segment.
 *
 * @param module  result, written on success only
 * @return        OPAL_SUCCESS; OPAL_ERR_OUT_OF_RESOURCE after a help text that
 *                says what is missing, unless the demand is quiet
 */
int mca_mpool_fastsm_module_create(const mca_mpool_fastsm_demand_t *demand,
                                   mca_mpool_fastsm_module_t **module);

/* ---- mpool_fastsm_file.c ---- */

/**
 * Makes and maps a file without a name.
 *
 * @param place   "memfd" or a directory
 * @param size    bytes
 * @param first   bytes at its begin that have their pages
 * @param wanted  bytes that have to be free in the directory, or in memory
 * @return        OPAL_SUCCESS, or OPAL_ERR_OUT_OF_RESOURCE; file->why then has the reason and
 *                there is nothing to end
 */
int mca_mpool_fastsm_file_make(mca_mpool_fastsm_file_t *file, const char *place, size_t size, size_t first,
                               uint64_t wanted);
/**
 * Makes the empty file behind file->fd as long as file->size says, with `data` at its begin.
 *
 * @param data    begin of a mapped file
 * @param first   bytes of it
 * @param wanted  bytes that have to be free where the file is
 * @return        OPAL_SUCCESS, or OPAL_ERR_OUT_OF_RESOURCE with file->why
 */
int mca_mpool_fastsm_file_fill(mca_mpool_fastsm_file_t *file, const void *data, size_t first,
                               uint64_t wanted);
/** Unmaps and closes it, and takes its name away. */
void mca_mpool_fastsm_file_end(mca_mpool_fastsm_file_t *file);

/* ---- mpool_fastsm_name.c: behind mca_mpool_fastsm_names_t ---- */

/** Its directory(): finds where files with names can be. Returns false: nowhere. */
bool mca_mpool_fastsm_name_directory(mca_mpool_fastsm_directory_t *directory);
/** Its path(): writes the path of the file with a name. */
void mca_mpool_fastsm_name_path(char path[MCA_MPOOL_FASTSM_PATH_MAX], const char *directory, uint64_t name);
/** Its give(): gives a segment a file with a name. Returns OPAL_SUCCESS or OPAL_ERR_OUT_OF_RESOURCE. */
int mca_mpool_fastsm_name_give(mca_mpool_fastsm_module_t *module,
                               const mca_mpool_fastsm_directory_t *directory, uint64_t name,
                               unsigned processes);
/** Behind its take(): takes a file's name away, if it has one. */
void mca_mpool_fastsm_name_take(mca_mpool_fastsm_file_t *file);
/** Its held(): whether the process that gave the name lives. */
bool mca_mpool_fastsm_name_held(int fd);

/**
 * The derived module, or NULL when `module` belongs to another component.
 */
static inline mca_mpool_fastsm_module_t *mca_mpool_fastsm_module(mca_mpool_base_module_t *module)
{
    mca_mpool_fastsm_module_t *derived = (mca_mpool_fastsm_module_t *) module;

    if (NULL == module || NULL == module->mpool_component
        || 0 != strcmp(module->mpool_component->mpool_version.mca_component_name, "fastsm")
        || MCA_MPOOL_FASTSM_MAGIC != derived->magic) {
        return NULL;
    }
    return derived;
}

#endif /* MCA_MPOOL_FASTSM_H */
