/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#define _GNU_SOURCE
#include "fp_test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GUARD_SIZE       64 /* bytes before and after each buffer; keeps it aligned */
#define GUARD_BYTE       0xc3
#define POISON_BYTE      0xa5
#define MAX_THREADS      16
#define MAX_REPORTS      10 /* failures that one rank prints in full */
#define SIGNAL_TAG       32001
#define DEFAULT_WATCHDOG 60 /* seconds */
#define CRASH_STACK      (64 * 1024)

int fp_rank = -1;
int fp_size = 0;

/* Where a thread is; read by the watchdog without a lock, on the way out. */
typedef struct {
    char name[160];
    const char *file;
    int line;
    const char *call;
} place_t;

static _Thread_local place_t place = {.name = "start", .call = "-"};

static _Atomic long checks;
static _Atomic long failures;
static pthread_t threads[MAX_THREADS];
static _Atomic int thread_count;

#ifdef __SANITIZE_ADDRESS__
/* What Open MPI leaves behind when it ends is not what these tests look for; jobs/valgrind.test tells whose a
 * leak is. Memory that there is not is refused as without sanitizers. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:allocator_may_return_null=1";
}
#endif

/* ----------------------------------------------------------------- watchdog */

/* Is this a process that MPI_Comm_spawn has started, and still on its way into the runtime?  run-mpi wants to
 * know: see docs/testing.md, "When a test hangs". */
static bool is_lost_child(void *const *frames, int count)
{
    Dl_info info;

    for (int i = 0; i < count && NULL != getenv("OMPI_PARENT_PORT"); i++) {
        if (0 != dladdr(frames[i], &info) && NULL != info.dli_sname
            && 0 == strcmp("PMIx_Init", info.dli_sname)) {
            return true;
        }
    }
    return false;
}

static void print_line(const char *why, bool lost)
{
    char line[512];
    int length;

    length = snprintf(line, sizeof(line), "# rank %d %s%s in case '%s', %s:%d: %s\n", fp_rank, why,
                      lost ? ", spawned and in PMIx_Init," : "", place.name,
                      (NULL == place.file) ? "-" : place.file, place.line, place.call);
    if (length > (int) sizeof(line) - 1) {
        length = (int) sizeof(line) - 1;
    }
    (void) !write(STDERR_FILENO, line, (size_t) length);
}

static void print_place(const char *why)
{
    void *frames[40];
    int count = backtrace(frames, 40);

    print_line(why, is_lost_child(frames, count));
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

static void on_report(int signal_number)
{
    (void) signal_number;
    print_place("waits");
}

static void on_alarm(int signal_number)
{
    int count = atomic_load(&thread_count);

    (void) signal_number;
    print_place("HANGS");
    for (int i = 0; i < count; i++) {
        if (!pthread_equal(threads[i], pthread_self())) {
            pthread_kill(threads[i], SIGUSR2);
        }
    }
    /* The first rank to exit takes the job down: let the others report too, also on a machine that stalls. */
    sleep(10);
    _exit(124);
}

/* ------------------------------------------------------------------ crashes */

/* A file that run-mpi looks into: mpirun may crash as well, and lose what was on its way. */
static const char *crash_file;
static char crash_stacks[MAX_THREADS][CRASH_STACK] __attribute__((aligned(16)));

/* The process, the signal, and which address it was about. */
static void print_crash(int signal_number, const siginfo_t *info)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "# rank %d is process %ld: signal %d, address %p\n", fp_rank,
                          (long) getpid(), signal_number, info->si_addr);
    int fd = (NULL == crash_file) ? -1 : open(crash_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    (void) !write(STDERR_FILENO, line, (size_t) length);
    if (0 <= fd) {
        (void) !write(fd, line, (size_t) length);
        close(fd);
    }
}

/* Has PMIx's own thread crashed in its own code, on the way into MPI? That of PMIx 4.2 sometimes reads memory
 * that has been freed, which shows where that is full of garbage. frames[0] is the handler of the signal, and
 * frames[1] what calls it. */
static bool is_pmix_crash(void *const *frames, int count)
{
    Dl_info info;

    return 0 == fp_size && getpid() != (pid_t) syscall(SYS_gettid) && 2 < count
           && 0 != dladdr(frames[2], &info) && NULL != strstr(info.dli_fname, "/libpmix.so");
}

/* What is sure comes first: memory may be such that the backtrace is a crash of its own, which then ends the
 * process, as this handler is called once. */
static void on_crash(int signal_number, siginfo_t *info, void *context)
{
    static const char pmix[] = "# PMIx's own thread has crashed\n";
    void *frames[40];
    int count;

    (void) context;
    print_line("CRASHES", false);
    print_crash(signal_number, info);
    count = backtrace(frames, 40);
    if (is_pmix_crash(frames, count)) {
        (void) !write(STDERR_FILENO, pmix, sizeof(pmix) - 1);
    }
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    raise(signal_number);
}

/* A stack that has overflown cannot be used; thread number INDEX has its own, unless it has got one from a
 * sanitizer, which will unmap it. */
static void set_crash_stack(int index)
{
    const stack_t stack = {.ss_sp = crash_stacks[index], .ss_size = CRASH_STACK};
    stack_t present = {.ss_flags = 0};

    if (0 == sigaltstack(NULL, &present) && 0 != (present.ss_flags & SS_DISABLE)) {
        (void) sigaltstack(&stack, NULL);
    }
}

/* Before MPI_Init, whose handlers know no case: Open MPI leaves those alone that are there. And after it, for
 * the libraries that do not. */
static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct sigaction action = {.sa_sigaction = on_crash,
                                     .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK};

    crash_file = getenv("FP_CRASHES");
    set_crash_stack(0);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &action, NULL);
    }
}

/* ---------------------------------------------------------- the watchdog's time */

/* Seconds from now on.  A time of day is the same for all processes of a job, whenever they were started. */
static unsigned watchdog_seconds(void)
{
    const char *text = getenv("FP_WATCHDOG");
    long left;

    if (NULL == text) {
        return DEFAULT_WATCHDOG;
    }
    if ('@' != text[0]) {
        return (unsigned) atoi(text);
    }
    left = atol(text + 1) - (long) time(NULL);
    return 0 < left ? (unsigned) left : 1;
}

static void start_watchdog(void)
{
    struct sigaction alarm_action = {.sa_handler = on_alarm};
    struct sigaction report_action = {.sa_handler = on_report, .sa_flags = SA_RESTART};
    void *frame;

    backtrace(&frame, 1); /* loads what it needs now, not inside the handler */
    sigaction(SIGUSR2, &report_action, NULL);
    sigaction(SIGALRM, &alarm_action, NULL);
    alarm(watchdog_seconds());
    threads[atomic_fetch_add(&thread_count, 1)] = pthread_self();
}

/* --------------------------------------------------------------- start, end */

void fp_case(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(place.name, sizeof(place.name), format, list);
    va_end(list);
}

void fp_at(const char *file, int line, const char *call)
{
    place.file = file;
    place.line = line;
    place.call = call;
}

int fp_init_thread(int *argc, char ***argv, int min_size, int required)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    int provided;

    fp_rank = (NULL == rank) ? 0 : atoi(rank);
    start_watchdog();
    catch_crashes();
    FP(MPI_Init_thread(argc, argv, required, &provided));
    catch_crashes();
    FP(MPI_Comm_rank(MPI_COMM_WORLD, &fp_rank));
    FP(MPI_Comm_size(MPI_COMM_WORLD, &fp_size));
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FP(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (fp_size < min_size) {
        fp_skip("needs %d ranks", min_size);
    }
    return provided;
}

void fp_init(int *argc, char ***argv, int min_size)
{
    (void) fp_init_thread(argc, argv, min_size, MPI_THREAD_SINGLE);
}

/* PMIx 4.2 loses the next child where it is told of this process's end before it has read the end of its connection,
 * which MPI_Finalize closes: contrib/mpich-suite/README.md, (c). */
static void let_launcher_read(void)
{
    enum { PATIENCE = 200000 /* microseconds */ };

    if (NULL != getenv("OMPI_PARENT_PORT")) {
        usleep(PATIENCE);
    }
}

/* Ends MPI; rank 0 prints the verdict on FAILED of CHECKED checks. */
static int finish(long failed, long checked)
{
    FP(MPI_Finalize());
    if (0 == fp_rank) {
        if (0 == failed && 0 == atomic_load(&failures)) {
            printf("No errors in %ld checks\n", checked);
        } else {
            printf("%ld of %ld checks failed\n", failed, checked);
        }
        fflush(stdout);
    }
    let_launcher_read();
    return (0 == atomic_load(&failures)) ? 0 : 1;
}

int fp_finish(void)
{
    long mine[2] = {atomic_load(&failures), atomic_load(&checks)}, all[2] = {0, 0};

    fp_case("end");
    FP(MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    return finish(all[0], all[1]);
}

int fp_finish_alone(void)
{
    return finish(atomic_load(&failures), atomic_load(&checks));
}

int fp_finish_child(void)
{
    fclose(stdout);
    return fp_finish();
}

void fp_skip(const char *format, ...)
{
    va_list list;

    if (0 == fp_rank) {
        printf("SKIP: ");
        va_start(list, format);
        vprintf(format, list);
        va_end(list);
        printf("\n");
        fflush(stdout);
    }
    MPI_Finalize();
    exit(0);
}

typedef struct {
    void (*body)(int);
    int index;
    int stack;
} thread_start_t;

static void *thread_main(void *argument)
{
    thread_start_t *start = argument;

    fp_case("thread %d", start->index);
    set_crash_stack(start->stack);
    start->body(start->index);
    return NULL;
}

void fp_run_threads(int count, void (*body)(int))
{
    thread_start_t starts[MAX_THREADS];
    int first = atomic_load(&thread_count);

    CHECK(first + count <= MAX_THREADS);
    for (int i = 0; i < count; i++) {
        starts[i] = (thread_start_t){.body = body, .index = i, .stack = first + i};
        CHECK(0 == pthread_create(&threads[first + i], NULL, thread_main, &starts[i]));
        atomic_fetch_add(&thread_count, 1);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[first + i], NULL);
    }
    atomic_store(&thread_count, first);
}

double fp_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static sigset_t outside_set(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
}

void fp_outside_init(void)
{
    const sigset_t set = outside_set();

    sigprocmask(SIG_BLOCK, &set, NULL);
}

bool fp_stay_outside(void)
{
    const struct timespec patience = {.tv_sec = 20};
    const sigset_t set = outside_set();
    int rc;

    do {
        rc = sigtimedwait(&set, NULL, &patience);
    } while (-1 == rc && EINTR == errno);
    return SIGUSR1 == rc;
}

void fp_sleep_ms(int ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

    nanosleep(&left, NULL);
}

double fp_used_ms(void)
{
    struct rusage usage;

    CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0);
    return 1e3 * (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + 1e-3 * (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int fp_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (NULL != directory && NULL != readdir(directory)) {
        count++;
    }
    if (NULL != directory) {
        closedir(directory);
    }
    return count;
}

/* Whether all threads of our parent, which is mpirun or its daemon, sleep: those that wait for a processor do
 * not. */
static bool launcher_sleeps(void)
{
    char path[64];
    struct dirent *entry;
    DIR *directory;
    bool sleeps = true;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long) getppid());
    directory = opendir(path);
    while (NULL != directory && NULL != (entry = readdir(directory))) {
        char name[400], state = 'S';
        FILE *file;

        snprintf(name, sizeof(name), "%s/%s/stat", path, entry->d_name);
        file = fopen(name, "r");
        if (NULL != file) {
            if (1 != fscanf(file, "%*d (%*[^)]) %c", &state) || 'S' != state) {
                sleeps = false;
            }
            fclose(file);
        }
    }
    if (NULL != directory) {
        closedir(directory);
    }
    return sleeps;
}

void fp_wait_for_end(int pid)
{
    while (0 == kill(pid, 0)) {
        fp_sleep_ms(10);
    }
    for (int looks = 0; looks < 20; looks = launcher_sleeps() ? looks + 1 : 0) {
        fp_sleep_ms(10);
    }
}

void fp_disconnect(MPI_Comm *comm)
{
    const double start = fp_now();
    int flag;

    for (int i = 0; i < 1000 || fp_now() - start < 0.05; i++) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    }
    FP(MPI_Comm_disconnect(comm));
}

/* ------------------------------------------------------------------- checks */

bool fp_check(bool good, const char *file, int line, const char *format, ...)
{
    char text[256];
    va_list list;
    long failed;

    atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
    if (good) {
        return true;
    }
    failed = atomic_fetch_add(&failures, 1);
    if (MAX_REPORTS > failed) {
        va_start(list, format);
        vsnprintf(text, sizeof(text), format, list);
        va_end(list);
        fprintf(stderr, "# rank %d FAILED %s:%d in case '%s': %s\n", fp_rank, file, line, place.name, text);
    }
    return false;
}

bool fp_check_rc(int rc, int want, const char *file, int line, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = rc, length;

    if (MPI_SUCCESS != rc) {
        MPI_Error_class(rc, &class);
        MPI_Error_string(rc, text, &length);
    }
    return fp_check(class == want, file, line, "%s returned %d %s and not class %d", call, rc, text, want);
}

bool fp_check_status(const MPI_Status *status, int source, int tag, size_t bytes, const char *file, int line)
{
    MPI_Count count = -1;
    int cancelled = -1;

    MPI_Get_elements_x(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    return fp_check(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == (MPI_Count) bytes
                        && 0 == cancelled,
                    file, line,
                    "status has source %d tag %d bytes %lld cancelled %d and not "
                    "source %d tag %d bytes %zu cancelled 0",
                    status->MPI_SOURCE, status->MPI_TAG, (long long) count, cancelled, source, tag, bytes);
}

/* ----------------------------------------------------------------- patterns */

/* The finaliser of splitmix64: every input bit changes about half the output bits. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t pattern_word(uint64_t key, size_t index)
{
    return mix(key + index * UINT64_C(0x9e3779b97f4a7c15));
}

static inline unsigned char pattern_byte(uint64_t key, size_t offset)
{
    return (unsigned char) (pattern_word(key, offset / 8) >> (8 * (offset % 8)));
}

uint64_t fp_key(int src, int dst, int tag, int sequence)
{
    return mix(mix(((uint64_t) (uint32_t) src << 32) | (uint32_t) dst)
               ^ (((uint64_t) (uint32_t) tag << 32) | (uint32_t) sequence));
}

void fp_fill_from(void *buffer, size_t length, uint64_t key, size_t offset)
{
    unsigned char *bytes = buffer;
    size_t i = 0;

    for (; i < length && 0 != (offset + i) % 8; i++) {
        bytes[i] = pattern_byte(key, offset + i);
    }
    for (; i + 8 <= length; i += 8) {
        uint64_t word = pattern_word(key, (offset + i) / 8); /* little endian, as pattern_byte */
        memcpy(bytes + i, &word, 8);
    }
    for (; i < length; i++) {
        bytes[i] = pattern_byte(key, offset + i);
    }
}

void fp_fill(void *buffer, size_t length, uint64_t key)
{
    fp_fill_from(buffer, length, key, 0);
}

/* The first of LENGTH bytes that differs from the pattern, or LENGTH. */
static size_t first_difference(const unsigned char *bytes, size_t length, uint64_t key, size_t offset)
{
    size_t i = 0;

    for (; i < length && 0 != (offset + i) % 8; i++) {
        if (bytes[i] != pattern_byte(key, offset + i)) {
            return i;
        }
    }
    for (; i + 8 <= length; i += 8) {
        uint64_t word = pattern_word(key, (offset + i) / 8);
        if (0 != memcmp(bytes + i, &word, 8)) {
            break;
        }
    }
    for (; i < length && bytes[i] == pattern_byte(key, offset + i); i++) {
        continue;
    }
    return i;
}

bool fp_check_data(const void *buffer, size_t length, uint64_t key, size_t offset, const char *file, int line)
{
    const unsigned char *bytes = buffer;
    size_t i = first_difference(bytes, length, key, offset);

    if (i == length) {
        return fp_check(true, file, line, " ");
    }
    return fp_check(false, file, line, "byte %zu of %zu is %02x and not %02x", i, length, bytes[i],
                    pattern_byte(key, offset + i));
}

static bool check_bytes(const unsigned char *bytes, size_t length, unsigned char want, const char *what,
                        const char *file, int line)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != want) {
            return fp_check(false, file, line, "byte %zu of %zu %s was overwritten with %02x", i, length,
                            what, bytes[i]);
        }
    }
    return fp_check(true, file, line, " ");
}

void fp_poison(void *buffer, size_t length)
{
    memset(buffer, POISON_BYTE, length);
}

bool fp_check_poison(const void *buffer, size_t length, const char *file, int line)
{
    return check_bytes(buffer, length, POISON_BYTE, "that nobody may write", file, line);
}

/*  A buffer in memory: | guard, its first 8 bytes the length | bytes | guard | */
void *fp_alloc(size_t length)
{
    unsigned char *block = malloc(length + 2 * GUARD_SIZE);

    if (NULL == block) {
        fprintf(stderr, "# rank %d: no memory for %zu bytes\n", fp_rank, length);
        MPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    memset(block, GUARD_BYTE, GUARD_SIZE);
    memcpy(block, &length, sizeof(length));
    fp_poison(block + GUARD_SIZE, length);
    memset(block + GUARD_SIZE + length, GUARD_BYTE, GUARD_SIZE);
    return block + GUARD_SIZE;
}

void *fp_alloc_filled(size_t length, uint64_t key)
{
    void *buffer = fp_alloc(length);

    fp_fill(buffer, length, key);
    return buffer;
}

void fp_check_free(void *buffer, const char *file, int line)
{
    unsigned char *block = (unsigned char *) buffer - GUARD_SIZE;
    size_t length;

    memcpy(&length, block, sizeof(length));
    check_bytes(block + sizeof(length), GUARD_SIZE - sizeof(length), GUARD_BYTE, "before the buffer", file,
                line);
    check_bytes(block + GUARD_SIZE + length, GUARD_SIZE, GUARD_BYTE, "after the buffer", file, line);
    free(block);
}

uint64_t fp_random(fp_random_t *generator)
{
    generator->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(generator->state);
}

size_t fp_random_between(fp_random_t *generator, size_t low, size_t high)
{
    return low + fp_random(generator) % (high - low + 1);
}

/* -------------------------------------------------------------------- tables */

const fp_mode_t fp_modes[FP_MODES] = {
    [FP_STANDARD] = {"standard", MPI_Send, MPI_Isend, MPI_Send_init, false, false},
    [FP_SYNCHRONOUS] = {"synchronous", MPI_Ssend, MPI_Issend, MPI_Ssend_init, false, false},
    [FP_BUFFERED] = {"buffered", MPI_Bsend, MPI_Ibsend, MPI_Bsend_init, false, true},
    [FP_READY] = {"ready", MPI_Rsend, MPI_Irsend, MPI_Rsend_init, true, false},
};

/* Boundaries: one slot (40 bytes of data, 56 with the shortest header), every
 * further cache line, the end of inline messages, eager limits, pipeline depths. */
const size_t fp_sizes[] = {
    0,       1,
    2,       7,
    8,       39,
    40,      41,
    55,      56,
    57,      63,
    64,      65,
    103,     104,
    105,     127,
    128,     129,
    167,     168,
    169,     191,
    192,     193,
    231,     232,
    233,     235,
    236,     237,
    247,     248,
    249,     255,
    256,     257,
    511,     512,
    513,     1023,
    1024,    1025,
    2047,    2048,
    2049,    4039,
    4040,    4041,
    4055,    4056,
    4057,    4071,
    4072,    4073,
    4079,    4080,
    4081,    4095,
    4096,    4097,
    8191,    8192,
    8193,    32711,
    32712,   32713,
    32735,   32736,
    32737,   32743,
    32744,   32745,
    32751,   32752,
    32753,   32767,
    32768,   32769,
    65535,   65536,
    65537,   131071,
    131072,  131073,
    262143,  262144,
    262145,  1048575,
    1048576, 1048577,
    5 << 20, (5 << 20) + 3,
};
const int fp_size_count = (int) (sizeof(fp_sizes) / sizeof(fp_sizes[0]));

const size_t fp_few_sizes[] = {0, 8, 40, 200, 4000, 20000, 70000, 1000001};
const int fp_few_size_count = (int) (sizeof(fp_few_sizes) / sizeof(fp_few_sizes[0]));

/* ---------------------------------------------------- messages with a pattern */

static int rank_in(MPI_Comm comm)
{
    int rank = -1;

    FP(MPI_Comm_rank(comm, &rank));
    return rank;
}

void fp_send(const fp_mode_t *mode, size_t length, int dst, int tag, int sequence, MPI_Comm comm)
{
    uint64_t key = fp_key(rank_in(comm), dst, tag, sequence);
    void *buffer = fp_alloc_filled(length, key);

    FP(mode->send(buffer, (int) length, MPI_BYTE, dst, tag, comm));
    CHECK_DATA(buffer, length, key);
    fp_free(buffer);
}

void fp_recv(size_t length, int src, int tag, int sequence, MPI_Comm comm)
{
    void *buffer = fp_alloc(length);
    MPI_Status status;

    FP(MPI_Recv(buffer, (int) length, MPI_BYTE, src, tag, comm, &status));
    CHECK_STATUS(&status, src, tag, length);
    CHECK_DATA(buffer, length, fp_key(src, rank_in(comm), tag, sequence));
    fp_free(buffer);
}

static void message_init(fp_message_t *message, size_t length, int peer, int tag, uint64_t key)
{
    *message = (fp_message_t){.buffer = fp_alloc(length),
                              .capacity = length,
                              .length = length,
                              .peer = peer,
                              .tag = tag,
                              .key = key};
}

void fp_isend(fp_message_t *message, const fp_mode_t *mode, size_t length, int dst, int tag, int sequence,
              MPI_Comm comm)
{
    message_init(message, length, dst, tag, fp_key(rank_in(comm), dst, tag, sequence));
    fp_fill(message->buffer, length, message->key);
    FP(mode->isend(message->buffer, (int) length, MPI_BYTE, dst, tag, comm, &message->request));
}

void fp_irecv(fp_message_t *message, size_t length, int src, int tag, int sequence, MPI_Comm comm)
{
    message_init(message, length, src, tag, fp_key(src, rank_in(comm), tag, sequence));
    FP(MPI_Irecv(message->buffer, (int) length, MPI_BYTE, src, tag, comm, &message->request));
}

void fp_wait_send(fp_message_t *message)
{
    FP(MPI_Wait(&message->request, MPI_STATUS_IGNORE));
    CHECK_DATA(message->buffer, message->length, message->key);
    fp_free(message->buffer);
}

void fp_wait_recv(fp_message_t *message)
{
    MPI_Status status;

    FP(MPI_Wait(&message->request, &status));
    CHECK_STATUS(&status, message->peer, message->tag, message->length);
    CHECK_DATA(message->buffer, message->length, message->key);
    CHECK_POISON(message->buffer + message->length, message->capacity - message->length);
    fp_free(message->buffer);
}

bool fp_was_cancelled(const MPI_Status *status)
{
    int flag;

    FP(MPI_Test_cancelled(status, &flag));
    return flag;
}

bool fp_cancel(MPI_Request *request)
{
    MPI_Status status;

    FP(MPI_Cancel(request));
    FP(MPI_Wait(request, &status));
    return fp_was_cancelled(&status);
}

void fp_signal(int dst, MPI_Comm comm)
{
    FP(MPI_Send(NULL, 0, MPI_BYTE, dst, SIGNAL_TAG, comm));
}

void fp_await(int src, MPI_Comm comm)
{
    FP(MPI_Recv(NULL, 0, MPI_BYTE, src, SIGNAL_TAG, comm, MPI_STATUS_IGNORE));
}
