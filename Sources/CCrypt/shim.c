// For explicit_bzero(3).
#define _DEFAULT_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// struct crypt_data has 32768 bytes in libxcrypt, 131232 in the libcrypt that glibc once had.
enum { CRYPT_DATA = 131232 };

typedef char *crypt_r_function(const char *phrase, const char *setting, void *data);

static crypt_r_function *crypt_r_found;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// libxcrypt is libcrypt.so.1 where it took the place of glibc's, else libcrypt.so.2.
static void load(void) {
  void *library = dlopen("libcrypt.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libcrypt.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library) *(void **)&crypt_r_found = dlsym(library, "crypt_r");
  if (crypt_r_found) return;
  const char *words = dlerror();
  strncpy(error_text, words ? words : "it has no crypt_r", sizeof error_text - 1);
}

int authctl_crypt(const char *phrase, const char *setting, char *hash) {
  pthread_once(&once, load);
  if (!crypt_r_found) return -1;
  void *data = calloc(1, CRYPT_DATA);
  if (!data) return ENOMEM;
  errno = 0;
  const char *found = crypt_r_found(phrase, setting, data);
  int result = errno ? errno : EINVAL;
  // A failure is NULL, or a text that begins with '*' and so matches no hash.
  if (found && found[0] != '*' && strlen(found) < AUTHCTL_CRYPT_OUTPUT) {
    strcpy(hash, found);
    result = 0;
  }
  explicit_bzero(data, CRYPT_DATA);
  free(data);
  return result;
}

const char *authctl_crypt_error(void) { return error_text; }
