// pthread_clockjoin_np(3), O_TMPFILE
#define _GNU_SOURCE
#include "shim.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

const int authctl_O_TMPFILE = O_TMPFILE;
const int authctl_stream_socket = SOCK_STREAM | SOCK_CLOEXEC;
const int authctl_waitless_stream_socket = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

static int argument_count;
static char **arguments;

// glibc gives constructors what main() gets.
__attribute__((constructor)) static void keep_arguments(int count, char **list) {
  argument_count = count;
  arguments = list;
}

char **authctl_arguments(int *count) {
  *count = argument_count;
  return arguments;
}

bool authctl_is_secure_execution(void) { return getauxval(AT_SECURE) != 0; }

int authctl_set_dumpable(bool dumpable) { return prctl(PR_SET_DUMPABLE, (long)dumpable, 0L, 0L, 0L); }

int authctl_clockjoin(pthread_t thread, clockid_t clock, const struct timespec *end) {
  return pthread_clockjoin_np(thread, NULL, clock, end);
}

bool authctl_is_ignored(int signal) {
  struct sigaction now;
  return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int authctl_exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

int authctl_ending_signal(int wait_status) {
  return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

int authctl_wait_status(int exit_status) { return W_EXITCODE(exit_status, 0); }
