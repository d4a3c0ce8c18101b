#include "shim.h"

#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <stddef.h>

static struct authctl_curl table;
static const struct authctl_curl *opened;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return;
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return;
  AUTHCTL_CURL_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  // libidn2, which libcurl asks for the punycode of a host, reads text by the locale.
  setlocale(LC_CTYPE, "C.UTF-8");
  if (table.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return;
  opened = &table;
}

const struct authctl_curl *authctl_curl(void) {
  pthread_once(&once, open_library);
  return opened;
}
