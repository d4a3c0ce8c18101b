#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static struct authctl_jq table;
static const struct authctl_jq *opened;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(void) {
  const char *words = dlerror();
  strncpy(error_text, words ? words : "cannot be initialized", sizeof error_text - 1);
}

// Not unsetenv(3), which moves the variables of the environment that other threads may be reading:
// they find either the old list or the new one, whole.
static int hide_home(void) {
  size_t count = 0, kept = 0;
  while (environ[count] != NULL) count++;
  char **list = calloc(count + 1, sizeof *list);
  if (list == NULL) return 0;
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "HOME=", 5) != 0) list[kept++] = environ[i];
  __atomic_store_n(&environ, list, __ATOMIC_RELEASE);
  return 1;
}

static void open_library(void) {
  void *library = dlopen("libjq.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) return fail();
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return fail();
  AUTHCTL_JQ_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  if (!hide_home()) return fail();
  opened = &table;
}

const struct authctl_jq *authctl_jq(void) {
  pthread_once(&once, open_library);
  return opened;
}

const char *authctl_jq_error(void) { return error_text; }
