/* The recorder of the power-loss model. Preloaded into a child process, it logs every change below
 * one directory (POWERLOSS_DIR) to a side log (POWERLOSS_LOG): what was written where, what was
 * synced, what was renamed. It changes nothing. What would be left after a power cut at any point
 * of the log is computed by `model.rs`; it is not decided here.
 *
 * One record: type u32, fd i32, offset u64, length of a u32, length of b u32, then a and b.
 * All calls on tracked files run one after the other, so that the log's order is the real one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, CLOSE, WRITE, TRUNCATE, RENAME, UNLINK, MKDIR, SYNC };

#define MAX_FDS 4096

static char root[PATH_MAX];
static size_t root_len;
static int log_fd = -1;
static char tracked[MAX_FDS];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *dir = getenv("POWERLOSS_DIR");
    const char *log = getenv("POWERLOSS_LOG");
    if (!dir || !log) return;
    snprintf(root, sizeof root, "%s", dir);
    root_len = strlen(root);
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) abort();
}

static void record(uint32_t type, int32_t fd, uint64_t offset, const void *a, size_t a_len,
                   const void *b, size_t b_len) {
    struct { uint32_t type; int32_t fd; uint64_t offset; uint32_t a_len, b_len; } head = {
        type, fd, offset, (uint32_t)a_len, (uint32_t)b_len};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)a, a_len}, {(void *)b, b_len}};
    ssize_t all = (ssize_t)(sizeof head + a_len + b_len);
    if (syscall(SYS_writev, log_fd, parts, 3) != all) abort();
}

/* The absolute path of a name; 1 if it is below the root. */
static int below(int dirfd, const char *name, char out[PATH_MAX]) {
    if (log_fd < 0) return 0;
    if (name[0] == '/') {
        snprintf(out, PATH_MAX, "%s", name);
    } else {
        char link[64], dir[PATH_MAX];
        if (dirfd == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
        ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, link, dir, sizeof dir - 1);
        if (len < 0) return 0;
        dir[len] = 0;
        if (snprintf(out, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX) abort();
    }
    return strncmp(out, root, root_len) == 0 && (out[root_len] == '/' || out[root_len] == 0);
}

static int is_tracked(int fd) {
    return log_fd >= 0 && fd >= 0 && fd < MAX_FDS && tracked[fd];
}

#define LOCK pthread_mutex_lock(&order)
#define UNLOCK do { int e = errno; pthread_mutex_unlock(&order); errno = e; } while (0)

static int open_any(int dirfd, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!below(dirfd, name, path)) {
        int other = (int)syscall(SYS_openat, dirfd, name, flags, mode);
        /* closedir closes without our seeing it: the number may have been tracked. */
        if (other >= 0 && other < MAX_FDS) tracked[other] = 0;
        return other;
    }
    LOCK;
    int fd = (int)syscall(SYS_openat, dirfd, name, flags, mode);
    if (fd >= 0) {
        if (fd >= MAX_FDS) abort();
        tracked[fd] = 1;
        uint64_t truncates = (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY;
        record(OPEN, fd, truncates, path, strlen(path), "", 0);
    }
    UNLOCK;
    return fd;
}

#define WITH_MODE(dirfd, name, flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list args; va_start(args, flags); mode = (mode_t)va_arg(args, int); va_end(args); \
    } \
    return open_any(dirfd, name, flags, mode)

int open(const char *name, int flags, ...) { WITH_MODE(AT_FDCWD, name, flags); }
int open64(const char *name, int flags, ...) { WITH_MODE(AT_FDCWD, name, flags); }
int openat(int dirfd, const char *name, int flags, ...) { WITH_MODE(dirfd, name, flags); }
int openat64(int dirfd, const char *name, int flags, ...) { WITH_MODE(dirfd, name, flags); }

int close(int fd) {
    if (!is_tracked(fd)) return (int)syscall(SYS_close, fd);
    LOCK;
    tracked[fd] = 0;
    record(CLOSE, fd, 0, "", 0, "", 0);
    int result = (int)syscall(SYS_close, fd);
    UNLOCK;
    return result;
}

static uint64_t write_offset(int fd) {
    struct stat now;
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    if ((flags & O_APPEND) && fstat(fd, &now) == 0) return (uint64_t)now.st_size;
    return (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t len) {
    if (!is_tracked(fd)) return syscall(SYS_write, fd, data, len);
    LOCK;
    uint64_t offset = write_offset(fd);
    ssize_t wrote = syscall(SYS_write, fd, data, len);
    if (wrote > 0) record(WRITE, fd, offset, "", 0, data, (size_t)wrote);
    UNLOCK;
    return wrote;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!is_tracked(fd)) return syscall(SYS_writev, fd, parts, count);
    return count > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}

static ssize_t pwrite_any(int fd, const void *data, size_t len, off_t offset) {
    if (!is_tracked(fd)) return syscall(SYS_pwrite64, fd, data, len, offset);
    LOCK;
    ssize_t wrote = syscall(SYS_pwrite64, fd, data, len, offset);
    if (wrote > 0) record(WRITE, fd, (uint64_t)offset, "", 0, data, (size_t)wrote);
    UNLOCK;
    return wrote;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset) {
    return pwrite_any(fd, data, len, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset) {
    return pwrite_any(fd, data, len, offset);
}

static int truncate_any(int fd, off_t len) {
    if (!is_tracked(fd)) return (int)syscall(SYS_ftruncate, fd, len);
    LOCK;
    int result = (int)syscall(SYS_ftruncate, fd, len);
    if (result == 0) record(TRUNCATE, fd, (uint64_t)len, "", 0, "", 0);
    UNLOCK;
    return result;
}

int ftruncate(int fd, off_t len) { return truncate_any(fd, len); }
int ftruncate64(int fd, off64_t len) { return truncate_any(fd, len); }

/* The kernel would write without our seeing what: callers fall back to plain writes. */
ssize_t copy_file_range(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
                        unsigned flags) {
    if (is_tracked(out)) { errno = ENOSYS; return -1; }
    return syscall(SYS_copy_file_range, in, in_off, out, out_off, len, flags);
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t len) {
    if (is_tracked(out)) { errno = EINVAL; return -1; }
    return syscall(SYS_sendfile, out, in, offset, len);
}
ssize_t sendfile(int out, int in, off_t *offset, size_t len) {
    return sendfile64(out, in, (off64_t *)offset, len);
}

/* Not seen by this recorder: nobody may use them below the root. */
int fallocate(int fd, int mode, off_t a, off_t b) {
    if (is_tracked(fd)) abort();
    return (int)syscall(SYS_fallocate, fd, mode, a, b);
}
int fallocate64(int fd, int mode, off64_t a, off64_t b) { return fallocate(fd, mode, a, b); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    char path[PATH_MAX];
    if (below(b, to, path)) abort();
    return (int)syscall(SYS_linkat, a, from, b, to, flags);
}

static int rename_any(int a, const char *from, int b, const char *to) {
    char old[PATH_MAX], new[PATH_MAX];
    int from_root = below(a, from, old), to_root = below(b, to, new);
    if (!from_root && !to_root) return (int)syscall(SYS_renameat, a, from, b, to);
    if (!from_root || !to_root) abort();
    LOCK;
    int result = (int)syscall(SYS_renameat, a, from, b, to);
    if (result == 0) record(RENAME, -1, 0, old, strlen(old), new, strlen(new));
    UNLOCK;
    return result;
}

int rename(const char *from, const char *to) { return rename_any(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int a, const char *from, int b, const char *to) { return rename_any(a, from, b, to); }

static int unlink_any(int dirfd, const char *name, int flags) {
    char path[PATH_MAX];
    if (!below(dirfd, name, path)) return (int)syscall(SYS_unlinkat, dirfd, name, flags);
    LOCK;
    int result = (int)syscall(SYS_unlinkat, dirfd, name, flags);
    if (result == 0) record(UNLINK, -1, 0, path, strlen(path), "", 0);
    UNLOCK;
    return result;
}

int unlink(const char *name) { return unlink_any(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlink_any(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int dirfd, const char *name, int flags) { return unlink_any(dirfd, name, flags); }

int mkdir(const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!below(AT_FDCWD, name, path)) return (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    LOCK;
    int result = (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    if (result == 0) record(MKDIR, -1, 0, path, strlen(path), "", 0);
    UNLOCK;
    return result;
}

static int sync_any(int fd, long call) {
    if (!is_tracked(fd)) return (int)syscall(call, fd);
    LOCK;
    /* Nothing is written while this runs, so what it makes durable is all that was written. The
     * real sync is not needed: the model decides what survives. */
    record(SYNC, fd, 0, "", 0, "", 0);
    UNLOCK;
    return 0;
}

int fsync(int fd) { return sync_any(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_any(fd, SYS_fdatasync); }

/* Begins write-back of pages and waits for no promise of the device: makes nothing durable. */
int sync_file_range(int fd, off64_t offset, off64_t len, unsigned flags) {
    if (!is_tracked(fd)) return (int)syscall(SYS_sync_file_range, fd, offset, len, flags);
    return 0;
}

/* These would sync everything behind the model's back. */
void sync(void) { abort(); }
int syncfs(int fd) { (void)fd; abort(); }
