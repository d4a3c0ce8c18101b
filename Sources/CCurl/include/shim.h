// libcurl, opened when the first URL is read or the first request sent: a command that needs
// neither does not pay for its libraries. Types come from the real header.
#ifndef AUTHCTL_CCURL_H
#define AUTHCTL_CCURL_H

#include <curl/curl.h>

#define AUTHCTL_CURL_FUNCTIONS(X)                                              \
  X(curl_easy_cleanup)                                                         \
  X(curl_easy_getinfo)                                                         \
  X(curl_easy_init)                                                            \
  X(curl_easy_perform)                                                         \
  X(curl_easy_setopt)                                                          \
  X(curl_easy_strerror)                                                        \
  X(curl_free)                                                                 \
  X(curl_global_init)                                                          \
  X(curl_mime_addpart)                                                         \
  X(curl_mime_data)                                                            \
  X(curl_mime_data_cb)                                                         \
  X(curl_mime_filename)                                                        \
  X(curl_mime_free)                                                            \
  X(curl_mime_init)                                                            \
  X(curl_mime_name)                                                            \
  X(curl_mime_type)                                                            \
  X(curl_multi_add_handle)                                                     \
  X(curl_multi_cleanup)                                                        \
  X(curl_multi_info_read)                                                      \
  X(curl_multi_init)                                                           \
  X(curl_multi_perform)                                                        \
  X(curl_multi_poll)                                                           \
  X(curl_multi_remove_handle)                                                  \
  X(curl_multi_setopt)                                                         \
  X(curl_multi_strerror)                                                       \
  X(curl_slist_append)                                                         \
  X(curl_slist_free_all)                                                       \
  X(curl_url)                                                                  \
  X(curl_url_cleanup)                                                          \
  X(curl_url_dup)                                                              \
  X(curl_url_get)                                                              \
  X(curl_url_set)                                                              \
  X(curl_version_info)

struct authctl_curl {
#define AUTHCTL_FIELD(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_CURL_FUNCTIONS(AUTHCTL_FIELD)
#undef AUTHCTL_FIELD
};

// The library's functions; NULL where libcurl.so.4 is not installed or too old.
const struct authctl_curl *_Nullable authctl_curl(void);

// Why there are none, in the dynamic linker's words: dlerror(3).
const char *_Nonnull authctl_curl_error(void);

/// CURLAUTH_BASIC, a macro that Swift does not read.
static const long authctl_basic = CURLAUTH_BASIC;

// curl_easy_setopt and curl_easy_getinfo are variadic: one line for each kind of argument.
// https://curl.se/libcurl/c/curl_easy_setopt.html
// The callbacks with what libcurl promises of their arguments, so that Swift need not doubt it.
typedef size_t (*authctl_receive_callback)(char *_Nonnull bytes, size_t size, size_t count,
                                           void *_Nonnull context);
typedef int (*authctl_debug_callback)(CURL *_Nonnull easy, curl_infotype kind,
                                      char *_Nonnull bytes, size_t count, void *_Nonnull context);
typedef int (*authctl_prereq_callback)(void *_Nonnull context, const char *_Nonnull peer,
                                       const char *_Nonnull local, int peer_port, int local_port);
typedef int (*authctl_seek_callback)(void *_Nonnull context, curl_off_t offset, int origin);
typedef int (*authctl_progress_callback)(void *_Nonnull context, curl_off_t received_of,
                                         curl_off_t received, curl_off_t sent_of, curl_off_t sent);

typedef curl_socket_t (*authctl_opensocket_callback)(void *_Nonnull context, curlsocktype purpose,
                                                     struct curl_sockaddr *_Nonnull wanted);
typedef int (*authctl_sockopt_callback)(void *_Nonnull context, curl_socket_t socket,
                                        curlsocktype purpose);

#define AUTHCTL_SETTER(kind, type)                                             \
  static inline CURLcode authctl_curl_set_##kind(CURL *_Nonnull easy,          \
                                                 CURLoption option, type value) { \
    return authctl_curl()->curl_easy_setopt(easy, option, value);              \
  }
AUTHCTL_SETTER(long, long)
AUTHCTL_SETTER(offset, curl_off_t)
AUTHCTL_SETTER(text, const char *_Nullable)
AUTHCTL_SETTER(pointer, const void *_Nullable)
AUTHCTL_SETTER(receive, authctl_receive_callback _Nullable)
AUTHCTL_SETTER(read, authctl_receive_callback _Nullable)
AUTHCTL_SETTER(seek, authctl_seek_callback _Nullable)
AUTHCTL_SETTER(progress, authctl_progress_callback _Nullable)
AUTHCTL_SETTER(debug, authctl_debug_callback _Nullable)
AUTHCTL_SETTER(prereq, authctl_prereq_callback _Nullable)
AUTHCTL_SETTER(opensocket, authctl_opensocket_callback _Nullable)
AUTHCTL_SETTER(sockopt, authctl_sockopt_callback _Nullable)
#undef AUTHCTL_SETTER

#define AUTHCTL_GETTER(kind, type)                                             \
  static inline CURLcode authctl_curl_get_##kind(CURL *_Nonnull easy,          \
                                                 CURLINFO info, type *_Nonnull value) { \
    return authctl_curl()->curl_easy_getinfo(easy, info, value);               \
  }
AUTHCTL_GETTER(long, long)
AUTHCTL_GETTER(double, double)
AUTHCTL_GETTER(offset, curl_off_t)
AUTHCTL_GETTER(text, const char *_Nullable)
AUTHCTL_GETTER(certificates, struct curl_certinfo *_Nullable)
#undef AUTHCTL_GETTER

static inline CURLMcode authctl_curl_set_multi_long(CURLM *_Nonnull multi,
                                                    CURLMoption option, long value) {
  return authctl_curl()->curl_multi_setopt(multi, option, value);
}

#endif
