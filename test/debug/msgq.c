/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* msgq PID: a debugger that can do one thing, ask Open MPI's message queue
 * library what a process of an MPI job waits for. It stops the process, prints
 * a line
 *
 *     COMMUNICATOR send|receive pending|matched PEER GLOBAL-PEER TAG BUFFER BYTES
 *
 * for each operation that is not complete, and lets the process go on.
 *
 * Where a real debugger takes types from debug information, which installed
 * libraries seldom have, a table of this program has them: it is compiled with
 * the headers of the same Open MPI. The library asking for something that is not
 * in the table is an error.
 *
 * Exit status: 0, 1 for an error, 77 when the process or the library is out of reach. */

#include "ompi_config.h"

#include "fastpath_ompi_compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/pml/base/pml_base_recvreq.h"
#include "ompi/mca/pml/base/pml_base_sendreq.h"
#include "ompi/mca/topo/topo.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"
#include "opal/class/opal_hash_table.h"
#include "opal/class/opal_pointer_array.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/mqs.h"

enum { UNREACHABLE = 77 };

static pid_t target;
static int missing; /**< what the library asked for in vain */
static mqs_image_info *image_info;
static mqs_process_info *process_info;

/* ---------------------------------------------------------------------- types */

struct mqs_type_ {
    const char *type;
    const char *field; /**< NULL: the type itself */
    int value;         /**< its size, or the field's offset */
};

#define TYPE(type)                                                                                           \
    {                                                                                                        \
#        type, NULL, (int) sizeof(type)                                                                      \
    }
#define FIELD(type, field)                                                                                   \
    {                                                                                                        \
#        type, #        field, (int) offsetof(type, field)                                                   \
    }

static mqs_type types[] = {
    TYPE(opal_list_item_t),
    FIELD(opal_list_item_t, opal_list_next),
    TYPE(opal_list_t),
    FIELD(opal_list_t, opal_list_sentinel),
    TYPE(opal_free_list_item_t),
    TYPE(opal_free_list_t),
    FIELD(opal_free_list_t, fl_mpool),
    FIELD(opal_free_list_t, fl_allocations),
    FIELD(opal_free_list_t, fl_frag_class),
    FIELD(opal_free_list_t, fl_frag_size),
    FIELD(opal_free_list_t, fl_frag_alignment),
    FIELD(opal_free_list_t, fl_max_to_alloc),
    FIELD(opal_free_list_t, fl_num_per_alloc),
    FIELD(opal_free_list_t, fl_num_allocated),
    TYPE(opal_hash_table_t),
    FIELD(opal_hash_table_t, ht_table),
    FIELD(opal_hash_table_t, ht_size),
    TYPE(opal_pointer_array_t),
    FIELD(opal_pointer_array_t, lowest_free),
    FIELD(opal_pointer_array_t, number_free),
    FIELD(opal_pointer_array_t, size),
    FIELD(opal_pointer_array_t, addr),
    TYPE(ompi_request_t),
    FIELD(ompi_request_t, req_type),
    FIELD(ompi_request_t, req_status),
    FIELD(ompi_request_t, req_complete),
    FIELD(ompi_request_t, req_state),
    FIELD(ompi_request_t, req_f_to_c_index),
    TYPE(mca_pml_base_request_t),
    FIELD(mca_pml_base_request_t, req_addr),
    FIELD(mca_pml_base_request_t, req_count),
    FIELD(mca_pml_base_request_t, req_peer),
    FIELD(mca_pml_base_request_t, req_tag),
    FIELD(mca_pml_base_request_t, req_comm),
    FIELD(mca_pml_base_request_t, req_datatype),
    FIELD(mca_pml_base_request_t, req_proc),
    FIELD(mca_pml_base_request_t, req_sequence),
    FIELD(mca_pml_base_request_t, req_type),
    FIELD(mca_pml_base_request_t, req_pml_complete),
    TYPE(mca_pml_base_send_request_t),
    FIELD(mca_pml_base_send_request_t, req_addr),
    FIELD(mca_pml_base_send_request_t, req_bytes_packed),
    FIELD(mca_pml_base_send_request_t, req_send_mode),
    TYPE(mca_pml_base_recv_request_t),
    FIELD(mca_pml_base_recv_request_t, req_bytes_packed),
    TYPE(ompi_communicator_t),
    FIELD(ompi_communicator_t, c_name),
    FASTPATH_COMM_ID_FIELDS(FIELD),
    FIELD(ompi_communicator_t, c_my_rank),
    FIELD(ompi_communicator_t, c_local_group),
    FIELD(ompi_communicator_t, c_remote_group),
    FIELD(ompi_communicator_t, c_flags),
    FIELD(ompi_communicator_t, c_f_to_c_index),
    FIELD(ompi_communicator_t, c_topo),
    FIELD(ompi_communicator_t, c_keyhash),
    TYPE(mca_topo_base_module_t),
    FIELD(mca_topo_base_module_t, mtc),
    FIELD(mca_topo_base_module_t, reorder),
    TYPE(mca_topo_base_comm_cart_2_2_0_t),
    FIELD(mca_topo_base_comm_cart_2_2_0_t, ndims),
    FIELD(mca_topo_base_comm_cart_2_2_0_t, dims),
    FIELD(mca_topo_base_comm_cart_2_2_0_t, periods),
    FIELD(mca_topo_base_comm_cart_2_2_0_t, coords),
    TYPE(mca_topo_base_comm_graph_2_2_0_t),
    FIELD(mca_topo_base_comm_graph_2_2_0_t, nnodes),
    FIELD(mca_topo_base_comm_graph_2_2_0_t, index),
    FIELD(mca_topo_base_comm_graph_2_2_0_t, edges),
    TYPE(mca_topo_base_comm_dist_graph_2_2_0_t),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, in),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, inw),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, out),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, outw),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, indegree),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, outdegree),
    FIELD(mca_topo_base_comm_dist_graph_2_2_0_t, weighted),
    TYPE(ompi_group_t),
    FIELD(ompi_group_t, grp_proc_count),
    FIELD(ompi_group_t, grp_proc_pointers),
    FIELD(ompi_group_t, grp_my_rank),
    FIELD(ompi_group_t, grp_flags),
    TYPE(ompi_status_public_t),
    FIELD(ompi_status_public_t, MPI_SOURCE),
    FIELD(ompi_status_public_t, MPI_TAG),
    FIELD(ompi_status_public_t, MPI_ERROR),
    FIELD(ompi_status_public_t, _ucount),
    FIELD(ompi_status_public_t, _cancelled),
    TYPE(ompi_datatype_t),
    FIELD(ompi_datatype_t, name),
    FIELD(ompi_datatype_t, super),
    TYPE(opal_datatype_t),
    FIELD(opal_datatype_t, size),
};

static mqs_type *look_up(const char *type, const char *field)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        if (0 == strcmp(types[i].type, type)
            && (NULL == field ? NULL == types[i].field
                              : NULL != types[i].field && 0 == strcmp(types[i].field, field))) {
            return &types[i];
        }
    }
    fprintf(stderr, "msgq: the library asks for %s.%s, which is not in the table\n", type,
            NULL == field ? "" : field);
    ++missing;
    return NULL;
}

static mqs_type *find_type(mqs_image *image, char *name, int language)
{
    (void) image;
    (void) language;
    return look_up(name, NULL);
}

static int field_offset(mqs_type *type, char *name)
{
    const mqs_type *field = look_up(type->type, name);

    return NULL == field ? -1 : field->value;
}

static int size_of(mqs_type *type)
{
    return type->value;
}

static void get_type_sizes(mqs_process *process, mqs_target_type_sizes *sizes)
{
    (void) process;
    *sizes = (mqs_target_type_sizes){sizeof(short),  sizeof(int),  sizeof(long),  sizeof(long long),
                                     sizeof(void *), sizeof(bool), sizeof(size_t)};
}

/* -------------------------------------------------------------------- symbols */

/** Look a defined symbol up in an ELF file that is mapped here; 0: not there. */
static mqs_taddr_t symbol_in(const char *elf, const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *) elf;
    const Elf64_Shdr *sections = (const Elf64_Shdr *) (elf + header->e_shoff);

    for (int i = 0; i < header->e_shnum; ++i) {
        if (SHT_DYNSYM != sections[i].sh_type && SHT_SYMTAB != sections[i].sh_type) {
            continue;
        }
        const Elf64_Sym *symbols = (const Elf64_Sym *) (elf + sections[i].sh_offset);
        const char *names = elf + sections[sections[i].sh_link].sh_offset;

        for (size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
            if (SHN_UNDEF != symbols[s].st_shndx && 0 == strcmp(names + symbols[s].st_name, name)) {
                return symbols[s].st_value;
            }
        }
    }
    return 0;
}

/** The same in a file that the target has mapped at an address. */
static mqs_taddr_t symbol_of_file(const char *path, mqs_taddr_t start, const char *name)
{
    mqs_taddr_t value = 0;
    struct stat info;
    int fd = open(path, O_RDONLY);

    if (fd < 0) {
        return 0;
    }
    if (0 == fstat(fd, &info) && info.st_size > (off_t) sizeof(Elf64_Ehdr)) {
        char *elf = mmap(NULL, (size_t) info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (MAP_FAILED != elf) {
            if (0 == memcmp(elf, ELFMAG, SELFMAG) && ELFCLASS64 == elf[EI_CLASS]) {
                value = symbol_in(elf, name);
                if (0 != value && ET_DYN == ((Elf64_Ehdr *) elf)->e_type) {
                    value += start;
                }
            }
            munmap(elf, (size_t) info.st_size);
        }
    }
    close(fd);
    return value;
}

/* The program comes before its libraries in the map, as it does for the dynamic linker. */
static int find_symbol(mqs_image *image, char *name, mqs_taddr_t *address)
{
    char line[4096], maps[64], path[4096];
    mqs_taddr_t found = 0;

    (void) image;
    snprintf(maps, sizeof(maps), "/proc/%ld/maps", (long) target);
    FILE *file = fopen(maps, "r");
    if (NULL == file) {
        return mqs_no_information;
    }
    while (0 == found && NULL != fgets(line, sizeof(line), file)) {
        unsigned long start, offset;

        if (3 == sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095[^\n]", &start, &offset, path) && 0 == offset
            && '/' == path[0] && 0 != strncmp(path, "/dev/", 5)) {
            found = symbol_of_file(path, start, name);
        }
    }
    fclose(file);
    if (NULL != address) {
        *address = found;
    }
    return 0 == found ? mqs_no_information : mqs_ok;
}

static int find_function(mqs_image *image, char *name, int language, mqs_taddr_t *address)
{
    (void) language;
    return find_symbol(image, name, address);
}

/* ------------------------------------------------------ the process, the rest */

static int fetch_data(mqs_process *process, mqs_taddr_t address, int size, void *to)
{
    struct iovec here = {to, (size_t) size}, there = {(void *) address, (size_t) size};

    (void) process;
    return size == process_vm_readv(target, &here, 1, &there, 1, 0) ? mqs_ok : mqs_no_information;
}

static void target_to_host(mqs_process *process, const void *from, void *to, int size)
{
    (void) process;
    memcpy(to, from, (size_t) size);
}

static int get_global_rank(mqs_process *process)
{
    (void) process;
    return 0;
}

static mqs_image *get_image(mqs_process *process)
{
    return (mqs_image *) process;
}

static void put_image_info(mqs_image *image, mqs_image_info *info)
{
    (void) image;
    image_info = info;
}

static mqs_image_info *get_image_info(mqs_image *image)
{
    (void) image;
    return image_info;
}

static void put_process_info(mqs_process *process, mqs_process_info *info)
{
    (void) process;
    process_info = info;
}

static mqs_process_info *get_process_info(mqs_process *process)
{
    (void) process;
    return process_info;
}

static void print(const char *text)
{
    fprintf(stderr, "msgq: %s\n", text);
}

static char *error_string(int code)
{
    (void) code;
    return "an error";
}

static const mqs_basic_callbacks basic_callbacks = {
    malloc, free, print, error_string, put_image_info, get_image_info, put_process_info, get_process_info};
static const mqs_image_callbacks image_callbacks = {get_type_sizes, find_function, find_symbol,
                                                    find_type,      field_offset,  size_of};
static const mqs_process_callbacks process_callbacks = {get_global_rank, get_image, fetch_data,
                                                        target_to_host};

/* ---------------------------------------------------------------- the library */

static struct {
    void *handle;
    int (*version_compatibility)(void);
    int (*dll_taddr_width)(void);
    void (*setup_basic_callbacks)(const mqs_basic_callbacks *);
    int (*setup_image)(mqs_image *, const mqs_image_callbacks *);
    int (*image_has_queues)(mqs_image *, char **);
    int (*setup_process)(mqs_process *, const mqs_process_callbacks *);
    int (*process_has_queues)(mqs_process *, char **);
    int (*update_communicator_list)(mqs_process *);
    int (*setup_communicator_iterator)(mqs_process *);
    int (*get_communicator)(mqs_process *, mqs_communicator *);
    int (*next_communicator)(mqs_process *);
    int (*setup_operation_iterator)(mqs_process *, int);
    int (*next_operation)(mqs_process *, mqs_pending_operation *);
} dll;

static void fail(int status, const char *what, const char *detail)
{
    fprintf(stderr, "msgq: %s: %s\n", what, detail);
    exit(status); /* which lets the target go on */
}

static void *entry(const char *name)
{
    void *function = dlsym(dll.handle, name);

    if (NULL == function) {
        fail(1, name, dlerror());
    }
    return function;
}

/** Load the library that the target names. */
static void load(void)
{
    mqs_taddr_t address;
    char name[1024] = "";

    if (mqs_ok != find_symbol(NULL, "MPIR_dll_name", &address)) {
        fail(1, "MPIR_dll_name", "no such symbol in the process");
    }
    for (size_t i = 0; i + 1 < sizeof(name) && mqs_ok == fetch_data(NULL, address + i, 1, &name[i]); ++i) {
        if ('\0' == name[i]) {
            break;
        }
    }
    dll.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (NULL == dll.handle) {
        fail(UNREACHABLE, name, dlerror());
    }
    fprintf(stderr, "msgq: %s\n", name);
#define ENTRY(function) dll.function = (__typeof__(dll.function)) entry("mqs_" #function)
    ENTRY(version_compatibility);
    ENTRY(dll_taddr_width);
    ENTRY(setup_basic_callbacks);
    ENTRY(setup_image);
    ENTRY(image_has_queues);
    ENTRY(setup_process);
    ENTRY(process_has_queues);
    ENTRY(update_communicator_list);
    ENTRY(setup_communicator_iterator);
    ENTRY(get_communicator);
    ENTRY(next_communicator);
    ENTRY(setup_operation_iterator);
    ENTRY(next_operation);
#undef ENTRY
    if (MQS_VERSION != dll.version_compatibility() || sizeof(mqs_taddr_t) != (size_t) dll.dll_taddr_width()) {
        fail(1, name, "another version of the interface");
    }
}

static void expect(int result, const char *call, const char *message)
{
    if (mqs_ok != result || 0 != missing) {
        fail(1, call, NULL == message ? "failed" : message);
    }
}

static void list_operations(mqs_process *process, const char *communicator, int class)
{
    mqs_pending_operation op;

    expect(dll.setup_operation_iterator(process, class), "mqs_setup_operation_iterator", NULL);
    for (;;) {
        memset(&op, 0, sizeof(op));
        if (mqs_ok != dll.next_operation(process, &op)) {
            return;
        }
        if (mqs_st_complete != op.status) {
            /* Open MPI's library does not extend the sign of an int to a word. */
            printf("%s %s %s %d %d %d 0x%lx %ld\n", communicator,
                   mqs_pending_sends == class ? "send" : "receive",
                   mqs_st_pending == op.status ? "pending" : "matched", (int) op.desired_local_rank,
                   (int) op.desired_global_rank, op.tag_wild ? -1 : (int) op.desired_tag, op.buffer,
                   op.desired_length);
        }
    }
}

/** Ptrace keeps the process still and lets it go when we end, however we end. */
static void stop_target(void)
{
    int status;

    if (0 != ptrace(PTRACE_SEIZE, target, NULL, NULL) || 0 != ptrace(PTRACE_INTERRUPT, target, NULL, NULL)) {
        fail(UNREACHABLE, "ptrace", strerror(errno));
    }
    if (target != waitpid(target, &status, __WALL) || !WIFSTOPPED(status)) {
        fail(1, "waitpid", "the process did not stop");
    }
}

int main(int argc, char **argv)
{
    static int something; /* the handles need an address only */
    mqs_process *process = (mqs_process *) &something;
    mqs_image *image = (mqs_image *) &something;
    mqs_communicator communicator;
    char *message = NULL;

    target = 2 == argc ? (pid_t) atol(argv[1]) : 0;
    if (target <= 0) {
        fail(1, "usage", "msgq PID");
    }
    stop_target();
    load();
    dll.setup_basic_callbacks(&basic_callbacks);
    expect(dll.setup_image(image, &image_callbacks), "mqs_setup_image", NULL);
    expect(dll.image_has_queues(image, &message), "mqs_image_has_queues", message);
    expect(dll.setup_process(process, &process_callbacks), "mqs_setup_process", NULL);
    expect(dll.process_has_queues(process, &message), "mqs_process_has_queues", message);
    expect(dll.update_communicator_list(process), "mqs_update_communicator_list", NULL);
    expect(dll.setup_communicator_iterator(process), "mqs_setup_communicator_iterator", NULL);
    do {
        expect(dll.get_communicator(process, &communicator), "mqs_get_communicator", NULL);
        list_operations(process, communicator.name, mqs_pending_receives);
        list_operations(process, communicator.name, mqs_pending_sends);
    } while (mqs_ok == dll.next_communicator(process));
    return 0;
}
