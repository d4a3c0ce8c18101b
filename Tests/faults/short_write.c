// Shortens write(2) to files and pipes, which strace cannot do: with FAULTS_SHORT_WRITE=N, the Nth write of more than
// one byte writes half of them; with 0, each write writes one byte. For LD_PRELOAD.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int descriptor, const void *bytes, size_t count) {
  static atomic_int writes;
  const char *number = getenv("FAULTS_SHORT_WRITE");
  struct stat file;
  if (number != NULL && count > 1 && fstat(descriptor, &file) == 0 &&
      (S_ISREG(file.st_mode) || S_ISFIFO(file.st_mode))) {
    int wanted = atoi(number);
    if (wanted == 0) count = 1;
    if (++writes == wanted) count /= 2;
  }
  return syscall(SYS_write, descriptor, bytes, count);
}
