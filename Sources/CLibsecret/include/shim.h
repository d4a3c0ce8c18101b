// What authctl uses of libsecret, GLib and GIO: types, prototypes, and a table that dlopen fills.
//
// Nothing of these is linked: a command that needs no keyring does not pay for loading 40 shared
// objects, authctl runs where libsecret is not installed, and it builds without -dev packages.
// The declarations are those of the public headers (libsecret-1.so.0, libgio-2.0.so.0 and
// libglib-2.0.so.0 keep them for as long as the soname stands), written down by hand:
//   https://gnome.pages.gitlab.gnome.org/libsecret/
//   https://docs.gtk.org/gio/    https://docs.gtk.org/gobject/    https://docs.gtk.org/glib/
#pragma once

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct _GObject GObject;
typedef struct _GCancellable GCancellable;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GMainContext GMainContext;
typedef struct _GSource GSource;
typedef struct _GVariant GVariant;
typedef struct _GVariantBuilder GVariantBuilder;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

// A GVariantType is its type string (G_VARIANT_TYPE() is a cast):
// https://docs.gtk.org/glib/struct.VariantType.html
typedef char GVariantType;

// https://docs.gtk.org/glib/struct.Error.html
typedef struct _GError {
  uint32_t domain;
  int code;
  char *message;
} GError;

typedef GError *_Nullable *_Nullable GErrorOut;

// https://docs.gtk.org/gobject/struct.TypeQuery.html
typedef struct _GTypeQuery {
  size_t type;
  const char *_Nullable type_name;
  unsigned class_size;
  unsigned instance_size;
} GTypeQuery;

// The beginning of https://docs.gtk.org/gobject/class.Object.html's class structure.
typedef struct _GObjectClass {
  size_t type;
  void *_Nullable construct_properties;
  GObject *_Nonnull (*_Nullable constructor)(size_t type, unsigned count, void *_Nullable);
} GObjectClass;

// https://docs.gtk.org/gobject/callback.ClassInitFunc.html
typedef void (*GClassInitFunc)(void *class_, void *_Nullable data);

// https://docs.gtk.org/gio/callback.DBusSignalCallback.html
typedef void (*GDBusSignalCallback)(
    GDBusConnection *connection, const char *_Nullable sender, const char *path,
    const char *interface, const char *signal, GVariant *parameters, void *_Nullable data);
// https://docs.gtk.org/glib/callback.SourceFunc.html
typedef int (*GSourceFunc)(void *_Nullable data);

// Values of enums that stand in the headers (gio/gioenums.h).
enum {
  AUTHCTL_G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT = 1 << 0,
  AUTHCTL_G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION = 1 << 3,
  AUTHCTL_G_DBUS_CALL_FLAGS_NO_AUTO_START = 1 << 0,
  AUTHCTL_G_IO_ERROR_TIMED_OUT = 24,
};

// The prototypes. Nothing may call these names: they are not linked. They give the table its types.
void g_free(void *_Nullable);
void g_error_free(GError *);
void g_object_unref(GObject *);
uint32_t g_io_error_quark(void);
char *_Nullable g_dbus_error_get_remote_error(const GError *);
int g_dbus_error_strip_remote_error(GError *);
GMainContext *g_main_context_new(void);
void g_main_context_unref(GMainContext *);
void g_main_context_push_thread_default(GMainContext *);
void g_main_context_pop_thread_default(GMainContext *);
int g_main_context_iteration(GMainContext *, int may_block);
GSource *g_timeout_source_new(unsigned milliseconds);
void g_source_set_callback(
    GSource *, GSourceFunc, void *_Nullable, void (*_Nullable)(void *_Nullable));
unsigned g_source_attach(GSource *, GMainContext *);
void g_source_destroy(GSource *);
void g_source_unref(GSource *);
GVariant *g_variant_new_string(const char *);
GVariant *g_variant_new_object_path(const char *);
GVariant *g_variant_new_boolean(int);
GVariant *g_variant_new_uint32(uint32_t);
GVariant *g_variant_new_variant(GVariant *);
GVariant *g_variant_new_dict_entry(GVariant *, GVariant *);
GVariantBuilder *g_variant_builder_new(const GVariantType *);
void g_variant_builder_add_value(GVariantBuilder *, GVariant *);
GVariant *g_variant_builder_end(GVariantBuilder *);
void g_variant_builder_unref(GVariantBuilder *);
size_t g_variant_n_children(GVariant *);
GVariant *g_variant_get_child_value(GVariant *, size_t);
const char *g_variant_get_string(GVariant *, size_t *_Nullable);
int g_variant_get_boolean(GVariant *);
uint32_t g_variant_get_uint32(GVariant *);
void g_variant_unref(GVariant *);
int g_variant_is_of_type(GVariant *, const GVariantType *);
GDBusConnection *_Nullable g_dbus_connection_new_for_address_sync(
    const char *, int flags, void *_Nullable observer, GCancellable *_Nullable, GErrorOut);
int g_dbus_connection_is_closed(GDBusConnection *);
GVariant *_Nullable g_dbus_connection_call_sync(
    GDBusConnection *, const char *name, const char *path, const char *interface,
    const char *method, GVariant *_Nullable parameters, const GVariantType *_Nullable reply,
    int flags, int milliseconds, GCancellable *_Nullable, GErrorOut);
unsigned g_dbus_connection_signal_subscribe(
    GDBusConnection *, const char *_Nullable sender, const char *_Nullable interface,
    const char *_Nullable member, const char *_Nullable path, const char *_Nullable arg0, int flags,
    GDBusSignalCallback, void *_Nullable data, void (*_Nullable)(void *_Nullable));
void g_dbus_connection_signal_unsubscribe(GDBusConnection *, unsigned);
void g_dbus_proxy_set_default_timeout(SecretService *, int milliseconds);
void g_type_query(size_t type, GTypeQuery *);
void *g_type_class_peek_parent(void *);
size_t g_type_register_static_simple(
    size_t parent, const char *name, unsigned class_size, GClassInitFunc, unsigned instance_size,
    void *_Nullable, unsigned flags);
void *_Nullable g_initable_new(
    size_t type, GCancellable *_Nullable, GErrorOut, const char *_Nullable property, ...);
size_t secret_service_get_type(void);
int secret_service_ensure_session_sync(SecretService *, GCancellable *_Nullable, GErrorOut);
const char *_Nullable secret_service_get_session_dbus_path(SecretService *);
const char *_Nullable secret_service_get_session_algorithms(SecretService *);
GVariant *secret_service_encode_dbus_secret(SecretService *, SecretValue *);
SecretValue *_Nullable secret_service_decode_dbus_secret(SecretService *, GVariant *);
SecretValue *secret_value_new(const char *_Nullable, ptrdiff_t, const char *type);
const char *_Nullable secret_value_get(SecretValue *, size_t *);
void secret_value_unref(SecretValue *);

// One line a function of the table.
#define AUTHCTL_LIBSECRET_FUNCTIONS(FN) \
  FN(g_free) \
  FN(g_error_free) \
  FN(g_object_unref) \
  FN(g_io_error_quark) \
  FN(g_dbus_error_get_remote_error) \
  FN(g_dbus_error_strip_remote_error) \
  FN(g_main_context_new) \
  FN(g_main_context_unref) \
  FN(g_main_context_push_thread_default) \
  FN(g_main_context_pop_thread_default) \
  FN(g_main_context_iteration) \
  FN(g_timeout_source_new) \
  FN(g_source_set_callback) \
  FN(g_source_attach) \
  FN(g_source_destroy) \
  FN(g_source_unref) \
  FN(g_variant_new_string) \
  FN(g_variant_new_object_path) \
  FN(g_variant_new_boolean) \
  FN(g_variant_new_uint32) \
  FN(g_variant_new_variant) \
  FN(g_variant_new_dict_entry) \
  FN(g_variant_builder_new) \
  FN(g_variant_builder_add_value) \
  FN(g_variant_builder_end) \
  FN(g_variant_builder_unref) \
  FN(g_variant_n_children) \
  FN(g_variant_get_child_value) \
  FN(g_variant_get_string) \
  FN(g_variant_get_boolean) \
  FN(g_variant_get_uint32) \
  FN(g_variant_unref) \
  FN(g_variant_is_of_type) \
  FN(g_dbus_connection_new_for_address_sync) \
  FN(g_dbus_connection_is_closed) \
  FN(g_dbus_connection_call_sync) \
  FN(g_dbus_connection_signal_subscribe) \
  FN(g_dbus_connection_signal_unsubscribe) \
  FN(g_dbus_proxy_set_default_timeout) \
  FN(g_type_query) \
  FN(g_type_class_peek_parent) \
  FN(g_type_register_static_simple) \
  FN(g_initable_new) \
  FN(secret_service_get_type) \
  FN(secret_service_ensure_session_sync) \
  FN(secret_service_get_session_dbus_path) \
  FN(secret_service_get_session_algorithms) \
  FN(secret_service_encode_dbus_secret) \
  FN(secret_service_decode_dbus_secret) \
  FN(secret_value_new) \
  FN(secret_value_get) \
  FN(secret_value_unref)

/// The functions by their own names.
struct authctl_libsecret {
#define FN(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_LIBSECRET_FUNCTIONS(FN)
#undef FN
};

/// Opens libsecret-1.so.0 on the first call. NULL when it or one of the functions is missing:
/// authctl_libsecret_error() says what. Variables that would turn libsecret to another store or GLib
/// to printing what it sends are gone by then (Hardening.swift).
const struct authctl_libsecret *_Nullable authctl_libsecret_load(void);

/// The words of dlerror(3) after authctl_libsecret_load() gave NULL; else "".
const char *authctl_libsecret_error(void);

/// The file of the library, as the dynamic linker found it; "" before it is loaded.
const char *authctl_libsecret_path(void);

/// A SecretService (a GDBusProxy) that talks to `owner` over `connection`; no message is sent.
SecretService *_Nullable authctl_secret_service_new(
    GDBusConnection *connection, const char *owner, int milliseconds, GErrorOut error);

#pragma clang assume_nonnull end
