// Linked into the program of `make test-asan` and `make test-tsan` only: options of the sanitizer,
// because most tests start the program with an environment of their own, and planted mistakes that
// show that a report is made.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The limit of core files stays that of the caller, because `exec` hands it on.
#define COMMON                                                                                     \
  "log_path=" REPORTS ":exitcode=99:disable_coredump=0:external_symbolizer_path=" SYMBOLIZER

const char *__asan_default_options(void) {
  // Faults are to be reported, although the program takes their signals back from any handler.
  // LeakSanitizer needs ptrace(2), which PR_SET_DUMPABLE forbids (rule C14): leaks.py has leaks.
  return COMMON ":detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1"
                ":print_cmdline=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2"
                ":handle_sigtrap=2";
}

const char *__tsan_default_options(void) {
  // A process that ends does not wait for its threads. What libraries read and write through libc is
  // checked too, except where a suppression says why not.
  return COMMON ":report_thread_leaks=0:ignore_interceptors_accesses=0"
                ":ignore_noninstrumented_modules=0:suppressions=" SUPPRESSIONS;
}

static int is_planted(const char *mistake) {
  const char *wanted = getenv("AUTHCTL_PLANT");
  return wanted && strcmp(wanted, mistake) == 0;
}

#if __has_feature(thread_sanitizer)
typedef int join(pthread_t, void **, clockid_t, const struct timespec *);

// ThreadSanitizer knows this function by the name of pthread_timedjoin_np(3) only, and would take
// what a thread has written for a race with the thread that has waited for it. The mistake
// "unjoined" is that it is not waited for, as far as ThreadSanitizer can see.
int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                         const struct timespec *end) {
  if (is_planted("unjoined"))
    return ((join *)dlsym(RTLD_NEXT, "pthread_clockjoin_np"))(thread, result, clock, end);
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  long nanoseconds = real.tv_nsec + end->tv_nsec - now.tv_nsec + 1000000000;
  real.tv_sec += end->tv_sec - now.tv_sec - 1 + nanoseconds / 1000000000;
  real.tv_nsec = nanoseconds % 1000000000;
  return pthread_timedjoin_np(thread, result, &real);
}
#endif

static volatile int shared;

static void *count(void *ignored) {
  shared++;
  return ignored;
}

static void race(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, count, NULL);
  shared++;
  pthread_join(thread, NULL);
}

static void overflow(void) {
  volatile char *bytes = malloc(8);
  bytes[8 + shared] = 1;
}

__attribute__((constructor)) static void plant(void) {
  if (is_planted("race")) race();
  if (is_planted("overflow")) overflow();
}
