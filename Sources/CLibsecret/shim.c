// dladdr(3)
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct authctl_libsecret table;
static const struct authctl_libsecret *loaded;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(void) {
  const char *words = dlerror();
  strncpy(error_text, words ? words : "cannot be loaded", sizeof error_text - 1);
}

static void load(void) {
  void *library = dlopen("libsecret-1.so.0", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return fail();
  // dlsym() on a library looks in those that it depends on too: GLib, GObject and GIO.
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return fail();
  AUTHCTL_LIBSECRET_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  loaded = &table;
}

const struct authctl_libsecret *authctl_libsecret_load(void) {
  pthread_once(&once, load);
  return loaded;
}

const char *authctl_libsecret_error(void) { return error_text; }

const char *authctl_libsecret_path(void) {
  Dl_info info;
  if (!loaded || dladdr((void *)loaded->secret_value_get, &info) == 0) return "";
  return info.dli_fname;
}

static GType service_type;
static pthread_once_t service_type_once = PTHREAD_ONCE_INIT;

static void use_plain_constructor(gpointer class_, gpointer data) {
  (void)data;
  GObjectClass *proxy = table.g_type_class_peek_parent(table.g_type_class_peek_parent(class_));
  ((GObjectClass *)class_)->constructor = proxy->constructor;
}

// SecretService's own constructor puts every instance on GLib's shared session connection, which
// ends the process when the bus goes away and can neither be bounded in time nor given an address.
// A subclass with the constructor of its parent, GDBusProxy, takes the connection that it is given.
static void register_service_type(void) {
  GTypeQuery query;
  GType parent = table.secret_service_get_type();
  table.g_type_query(parent, &query);
  service_type = table.g_type_register_static_simple(parent, "AuthctlSecretService",
                                                     query.class_size, use_plain_constructor,
                                                     query.instance_size, NULL, (GTypeFlags)0);
}

SecretService *authctl_secret_service_new(GDBusConnection *connection, const char *owner,
                                          int milliseconds, GError **error) {
  // With these and a unique name the constructor sends nothing.
  const GDBusProxyFlags flags = G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES |
                                G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS |
                                G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START;
  pthread_once(&service_type_once, register_service_type);
  return table.g_initable_new(
      service_type, NULL, error, "g-connection", connection, "g-flags", flags, "g-name", owner,
      "g-object-path", "/org/freedesktop/secrets", "g-interface-name",
      "org.freedesktop.Secret.Service", "g-default-timeout", milliseconds, NULL);
}
