// dladdr(3)
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stand_in.h>
#include <string.h>

static struct authctl_libsecret table;
static const struct authctl_libsecret *loaded;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(void) {
  const char *words = dlerror();
  strncpy(error_text, words ? words : "cannot be loaded", sizeof error_text - 1);
}

// What libsecret and GLib would print about a service's mistakes on standard error. The calls fail as
// well, and what they say is told in authctl's own words.
static GLogWriterOutput say_nothing(GLogLevelFlags level, const GLogField *fields, gsize count,
                                    gpointer data) {
  (void)level, (void)fields, (void)count, (void)data;
  return G_LOG_WRITER_HANDLED;
}

// What GIO has for mounts and for the labels of files, which a bus has nothing to do with; with libblkid
// three of its libraries, 3 % of the processor time of `token` and `get`.
static const struct authctl_stand_in unused[] = {
    {"libmount.so.1", "MOUNT_2.19 MOUNT_2.20",
     "mnt_free_iter mnt_free_table mnt_fs_get_fstype mnt_fs_get_options mnt_fs_get_root "
     "mnt_fs_get_source mnt_fs_get_target mnt_fs_strdup_options mnt_get_builtin_optmap "
     "mnt_get_fstab_path mnt_has_regular_mtab mnt_new_iter mnt_new_table mnt_optstr_get_flags "
     "mnt_table_next_fs mnt_table_parse_fstab mnt_table_parse_mtab"},
    {"libselinux.so.1", "LIBSELINUX_1.0",
     "fgetfilecon_raw freecon getfilecon_raw is_selinux_enabled lgetfilecon_raw setfilecon_raw"},
};

static void load(void) {
  void *library =
      authctl_open_without(unused, sizeof unused / sizeof unused[0], "libsecret-1.so.0");
  if (!library) return fail();
  // dlsym() on a library looks in those that it depends on too: GLib, GObject and GIO.
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return fail();
  AUTHCTL_LIBSECRET_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  table.g_log_set_writer_func(say_nothing, NULL, NULL);
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

int authctl_bus_socket(const char *address, GError **error) {
  GIOStream *stream = table.g_dbus_address_get_stream_sync(address, NULL, NULL, error);
  if (!stream) return -1;
  // An address that begins with unix: gives a socket connection.
  GSocket *socket = table.g_socket_connection_get_socket((GSocketConnection *)stream);
  int descriptor = fcntl(table.g_socket_get_fd(socket), F_DUPFD_CLOEXEC, 3);
  table.g_object_unref(stream);
  // GLib's sockets do not block.
  if (descriptor >= 0) fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

// A type like `parent`, except for what `initialize` changes in its class.
static GType subclass(GType parent, const char *name, GClassInitFunc initialize) {
  GTypeQuery query;
  table.g_type_query(parent, &query);
  return table.g_type_register_static_simple(parent, name, query.class_size, initialize,
                                             query.instance_size, NULL, (GTypeFlags)0);
}

typedef bool (*gate_admits)(void *gate, const void *bytes, size_t count);
typedef gssize (*stream_read)(GInputStream *, void *, gsize, GCancellable *, GError **);

// A GUnixInputStream that asks about all that it reads; its data has the gate.
static const char gate_name[] = "authctl-gate";
static _Atomic(gate_admits) gate_function;
static stream_read read_socket;
static GType gated_type;
static pthread_once_t gated_type_once = PTHREAD_ONCE_INIT;

static gssize read_gated(GInputStream *stream, void *buffer, gsize count, GCancellable *cancellable,
                         GError **error) {
  gssize length = read_socket(stream, buffer, count, cancellable, error);
  void *gate = table.g_object_get_data((GObject *)stream, gate_name);
  if (length <= 0 || gate_function(gate, buffer, (size_t)length)) return length;
  table.g_set_error_literal(error, table.g_io_error_quark(), G_IO_ERROR_MESSAGE_TOO_LARGE,
                            "the message is too large");
  return -1;
}

static void use_gated_read(gpointer class_, gpointer data) {
  (void)data;
  read_socket = ((GInputStreamClass *)class_)->read_fn;
  ((GInputStreamClass *)class_)->read_fn = read_gated;
}

static void register_gated_type(void) {
  gated_type = subclass(table.g_unix_input_stream_get_type(), "AuthctlGatedStream", use_gated_read);
}

GDBusConnection *authctl_bus_connection(int socket, void *gate, gate_admits admits,
                                        void (*release)(void *gate), GError **error) {
  gate_function = admits;
  pthread_once(&gated_type_once, register_gated_type);
  GObject *input = table.g_object_new(gated_type, "fd", socket, "close-fd", TRUE, NULL);
  table.g_object_set_data_full(input, gate_name, gate, release);
  GOutputStream *output = table.g_unix_output_stream_new(socket, FALSE);
  GIOStream *stream = table.g_simple_io_stream_new((GInputStream *)input, output);
  GDBusConnection *connection = table.g_dbus_connection_new_sync(
      stream, NULL, G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL, NULL, error);
  table.g_object_unref(stream);
  table.g_object_unref(output);
  table.g_object_unref(input);
  return connection;
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
  service_type =
      subclass(table.secret_service_get_type(), "AuthctlSecretService", use_plain_constructor);
}

SecretService *authctl_secret_service_new(GDBusConnection *connection, const char *owner,
                                          int milliseconds, GError **error) {
  // With these and a unique name the constructor sends nothing.
  const GDBusProxyFlags flags =
      G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS |
      G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START | G_DBUS_PROXY_FLAGS_NO_MATCH_RULE;
  pthread_once(&service_type_once, register_service_type);
  return table.g_initable_new(
      service_type, NULL, error, "g-connection", connection, "g-flags", flags, "g-name", owner,
      "g-object-path", "/org/freedesktop/secrets", "g-interface-name",
      "org.freedesktop.Secret.Service", "g-default-timeout", milliseconds, NULL);
}
