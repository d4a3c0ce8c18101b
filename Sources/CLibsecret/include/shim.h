// libsecret, with the GLib and GIO that it brings, opened when the keyring is first needed: a command
// that needs none does not pay for forty libraries, and authctl starts where libsecret is missing.
// Types and prototypes come from the real headers. https://gnome.pages.gitlab.gnome.org/libsecret/
// https://docs.gtk.org/gio/    https://docs.gtk.org/gobject/    https://docs.gtk.org/glib/
#ifndef AUTHCTL_CLIBSECRET_H
#define AUTHCTL_CLIBSECRET_H

#include <stdbool.h>

// For <libsecret/secret-paths.h>, whose calls take and return D-Bus values.
#define SECRET_API_SUBJECT_TO_CHANGE 1
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <libsecret/secret.h>

// One line for each function of the table.
#define AUTHCTL_LIBSECRET_FUNCTIONS(X)                                         \
  X(g_dbus_address_get_stream_sync)                                            \
  X(g_dbus_connection_call)                                                    \
  X(g_dbus_connection_call_finish)                                             \
  X(g_dbus_connection_is_closed)                                               \
  X(g_dbus_connection_new_sync)                                                \
  X(g_dbus_connection_signal_subscribe)                                        \
  X(g_dbus_connection_signal_unsubscribe)                                      \
  X(g_dbus_error_get_remote_error)                                             \
  X(g_dbus_error_strip_remote_error)                                           \
  X(g_dbus_proxy_set_default_timeout)                                          \
  X(g_error_free)                                                              \
  X(g_free)                                                                    \
  X(g_initable_new)                                                            \
  X(g_io_error_quark)                                                          \
  X(g_log_set_writer_func)                                                     \
  X(g_main_context_iteration)                                                  \
  X(g_main_context_new)                                                        \
  X(g_main_context_pop_thread_default)                                         \
  X(g_main_context_push_thread_default)                                        \
  X(g_main_context_unref)                                                      \
  X(g_object_get_data)                                                         \
  X(g_object_new)                                                              \
  X(g_object_set_data_full)                                                    \
  X(g_object_unref)                                                            \
  X(g_set_error_literal)                                                       \
  X(g_simple_io_stream_new)                                                    \
  X(g_socket_connection_get_socket)                                            \
  X(g_socket_get_fd)                                                           \
  X(g_source_attach)                                                           \
  X(g_source_destroy)                                                          \
  X(g_source_set_callback)                                                     \
  X(g_source_unref)                                                            \
  X(g_timeout_source_new)                                                      \
  X(g_type_class_peek_parent)                                                  \
  X(g_type_query)                                                              \
  X(g_type_register_static_simple)                                             \
  X(g_unix_input_stream_get_type)                                              \
  X(g_unix_output_stream_new)                                                  \
  X(g_variant_builder_add_value)                                               \
  X(g_variant_builder_end)                                                     \
  X(g_variant_builder_new)                                                     \
  X(g_variant_builder_unref)                                                   \
  X(g_variant_get_boolean)                                                     \
  X(g_variant_get_child_value)                                                 \
  X(g_variant_get_string)                                                      \
  X(g_variant_get_uint32)                                                      \
  X(g_variant_is_of_type)                                                      \
  X(g_variant_n_children)                                                      \
  X(g_variant_new_boolean)                                                     \
  X(g_variant_new_dict_entry)                                                  \
  X(g_variant_new_object_path)                                                 \
  X(g_variant_new_string)                                                      \
  X(g_variant_new_uint32)                                                      \
  X(g_variant_new_variant)                                                     \
  X(g_variant_unref)                                                           \
  X(secret_service_decode_dbus_secret)                                         \
  X(secret_service_encode_dbus_secret)                                         \
  X(secret_service_ensure_session)                                             \
  X(secret_service_ensure_session_sync)                                        \
  X(secret_service_get_session_algorithms)                                     \
  X(secret_service_get_session_dbus_path)                                      \
  X(secret_service_get_type)                                                   \
  X(secret_value_get)                                                          \
  X(secret_value_new)                                                          \
  X(secret_value_unref)

// The functions by their own names. The names themselves may not be called: they are not linked.
struct authctl_libsecret {
#define AUTHCTL_FIELD(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_LIBSECRET_FUNCTIONS(AUTHCTL_FIELD)
#undef AUTHCTL_FIELD
};

// Opens libsecret-1.so.0 on the first call. NULL where it or one of the functions is missing:
// authctl_libsecret_error() says what. Variables that would turn libsecret to another store or make
// GLib print what it sends are gone by then (Hardening.swift).
const struct authctl_libsecret *_Nullable authctl_libsecret_load(void);

// The words of dlerror(3) after authctl_libsecret_load() returned NULL; else "".
const char *_Nonnull authctl_libsecret_error(void);

// The file of the library, as the dynamic linker found it; "" before it is loaded.
const char *_Nonnull authctl_libsecret_path(void);

// A connection to the bus at `address` as a plain socket, which the caller closes; -1 with `error`.
int authctl_bus_socket(const char *_Nonnull address, GError *_Nullable *_Nonnull error);

// The D-Bus connection of a client over `socket`, on which the authentication is over. It owns the
// socket from here on, also when it fails. `admits` gets all bytes that GDBus reads before GDBus does,
// on a thread of GDBus; false ends the connection. `release` is called when it gets no more.
GDBusConnection *_Nullable authctl_bus_connection(
    int socket, void *_Nonnull gate,
    bool (*_Nonnull admits)(void *_Nonnull gate, const void *_Nonnull bytes, size_t count),
    void (*_Nonnull release)(void *_Nullable gate), GError *_Nullable *_Nonnull error);

// A SecretService (a GDBusProxy) that talks to `owner` over `connection`; no message is sent.
SecretService *_Nullable authctl_secret_service_new(GDBusConnection *_Nonnull connection,
                                                    const char *_Nonnull owner, int milliseconds,
                                                    GError *_Nullable *_Nonnull error);

#endif
