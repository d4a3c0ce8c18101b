// What glibc has and Swift's module Glibc does not show: functions that need _GNU_SOURCE, that take a
// variable number of arguments, or that are macros. Values are those of the real headers.
#ifndef AUTHCTL_CSYSTEM_H
#define AUTHCTL_CSYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#pragma clang assume_nonnull begin

/// O_TMPFILE of open(2): a file without a name. https://man7.org/linux/man-pages/man2/open.2.html
extern const int authctl_O_TMPFILE;

/// A stream socket that is closed on exec; one whose calls do not wait, either. In socket(2) these are
/// enumerators of a header that belongs to no module.
/// https://man7.org/linux/man-pages/man2/socket.2.html
extern const int authctl_stream_socket;
extern const int authctl_waitless_stream_socket;

/// The arguments of main(), as `count` texts. Swift's `CommandLine` searches the memory that
/// /proc/self/maps names for them, and has none when that file cannot be read.
char *_Nonnull *_Nullable authctl_arguments(int *count);

/// Whether the kernel gave this process privileges that its caller does not have: AT_SECURE of
/// getauxval(3). https://man7.org/linux/man-pages/man3/getauxval.3.html
bool authctl_is_secure_execution(void);

/// PR_SET_DUMPABLE of prctl(2); 0 when it is done.
/// https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html
int authctl_set_dumpable(bool dumpable);

/// Joins `thread` until `end` on `clock`; 0 when the thread has ended: pthread_clockjoin_np(3).
/// https://man7.org/linux/man-pages/man3/pthread_tryjoin_np.3.html
int authctl_clockjoin(pthread_t thread, clockid_t clock, const struct timespec *end);

/// Whether `signal` is ignored (SIG_IGN): sigaction(2).
/// https://man7.org/linux/man-pages/man2/sigaction.2.html
bool authctl_is_ignored(int signal);

/// The status that a child exited with, of what waitpid(2) said; -1 when a signal ended it.
/// https://man7.org/linux/man-pages/man2/wait.2.html
int authctl_exit_status(int wait_status);

/// The signal that ended a child, of what waitpid(2) said; 0 when it exited by itself.
int authctl_ending_signal(int wait_status);

/// What waitpid(2) says of a child that exited with `exit_status`: W_EXITCODE of <sys/wait.h>.
int authctl_wait_status(int exit_status);

#pragma clang assume_nonnull end

#endif
