/*
 * Runs one program after another on request and says what each cost.
 *
 * A request is a line with a count, then that many NUL-terminated strings: working directory, file for stdin,
 * program, arguments. The answer is one line: wall time in ns, user and system time in us, peak resident set in KiB,
 * bytes written to stdout, wait status. Wall time is from the spawn to the last byte of output and the reaped child.
 *
 * In C, static and small, because a child's peak memory starts from its parent's: under a Python parent every
 * child would seem to need ten MiB.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 16384
#define MOST_STRINGS 256

extern char **environ;

static char request[REQUEST_BYTES];
static char *strings[MOST_STRINGS + 1];
static char drain[65536];

static void give_up(const char *what, int error)
{
    printf("error %s: %s\n", what, strerror(error));
    fflush(stdout);
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Returns the number of strings, 0 at the end of the requests, or -1 for one that makes no sense. */
static int read_request(void)
{
    int count = 0, got = 0;
    size_t used = 0;
    if (scanf("%d", &count) != 1 || getchar() != '\n')
        return feof(stdin) ? 0 : -1;
    if (count < 3 || count > MOST_STRINGS)
        return -1;
    while (got < count) {
        size_t start = used;
        int c;
        while ((c = getchar()) > 0 && used < sizeof request - 1)
            request[used++] = (char)c;
        if (c != 0)
            return -1;
        request[used++] = 0;
        strings[got++] = request + start;
    }
    strings[count] = NULL;
    return count;
}

static int spawn_child(int out, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    int error;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, strings[0]);
    posix_spawn_file_actions_addopen(&actions, 0, strings[1], O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    error = posix_spawn(child, strings[2], &actions, NULL, strings + 2, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads until the writers are gone; a child that is still there at the deadline is ended. */
static long long drain_pipe(int in, pid_t child, int limit_ms)
{
    long long bytes = 0;
    for (;;) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        if (poll(&ready, 1, limit_ms) == 0)
            kill(child, SIGKILL);
        ssize_t n = read(in, drain, sizeof drain);
        if (n <= 0)
            return bytes;
        bytes += n;
    }
}

static void measure(int limit_ms)
{
    int ends[2], error, status;
    pid_t child;
    struct rusage use;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        give_up("pipe", errno);
        return;
    }
    long long start = now_ns();
    error = spawn_child(ends[1], &child);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        give_up(strings[2], error);
        return;
    }
    long long bytes = drain_pipe(ends[0], child, limit_ms);
    wait4(child, &status, 0, &use);
    long long wall = now_ns() - start;
    close(ends[0]);
    printf("%lld %lld %lld %ld %lld %d\n", wall,
           use.ru_utime.tv_sec * 1000000LL + use.ru_utime.tv_usec,
           use.ru_stime.tv_sec * 1000000LL + use.ru_stime.tv_usec,
           use.ru_maxrss, bytes, status);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int limit_ms = argc > 1 ? atoi(argv[1]) * 1000 : -1;
    int count;
    while ((count = read_request()) > 0)
        measure(limit_ms);
    return count == 0 ? 0 : 2;
}
