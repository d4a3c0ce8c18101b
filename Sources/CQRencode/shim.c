#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct authctl_qrencode table;
static const struct authctl_qrencode *opened;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(void) {
  const char *words = dlerror();
  strncpy(error_text, words ? words : "cannot be initialized", sizeof error_text - 1);
}

static void open_library(void) {
  void *library = dlopen("libqrencode.so.4", RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) return fail();
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return fail();
  AUTHCTL_QRENCODE_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  opened = &table;
}

const struct authctl_qrencode *authctl_qrencode(void) {
  pthread_once(&once, open_library);
  return opened;
}

const char *authctl_qrencode_error(void) { return error_text; }
