#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct authctl_crypto table;
static const struct authctl_crypto *opened;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
  void *library = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) return;
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return;
  AUTHCTL_CRYPTO_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  opened = &table;
}

const struct authctl_crypto *authctl_crypto(void) {
  pthread_once(&once, open_library);
  return opened;
}
