// libcurl, opened when the first URL is read or the first request sent: a command that needs
// neither does not pay for its thirty libraries. Types come from the real header.
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
  X(curl_mime_free)                                                            \
  X(curl_mime_init)                                                            \
  X(curl_mime_name)                                                            \
  X(curl_slist_append)                                                         \
  X(curl_slist_free_all)                                                       \
  X(curl_url)                                                                  \
  X(curl_url_cleanup)                                                          \
  X(curl_url_dup)                                                              \
  X(curl_url_get)                                                              \
  X(curl_url_set)                                                              \
  X(curl_version)

struct authctl_curl {
#define AUTHCTL_FIELD(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_CURL_FUNCTIONS(AUTHCTL_FIELD)
#undef AUTHCTL_FIELD
};

// The library's functions; NULL where libcurl.so.4 is not installed or too old.
const struct authctl_curl *_Nullable authctl_curl(void);

// curl_easy_setopt and curl_easy_getinfo are variadic: one line for each kind of argument.
// https://curl.se/libcurl/c/curl_easy_setopt.html
#define AUTHCTL_SETTER(kind, type)                                             \
  static inline CURLcode authctl_curl_set_##kind(CURL *_Nonnull easy,          \
                                                 CURLoption option, type value) { \
    return authctl_curl()->curl_easy_setopt(easy, option, value);              \
  }
AUTHCTL_SETTER(long, long)
AUTHCTL_SETTER(offset, curl_off_t)
AUTHCTL_SETTER(text, const char *_Nullable)
AUTHCTL_SETTER(pointer, const void *_Nullable)
AUTHCTL_SETTER(write, curl_write_callback _Nullable)
AUTHCTL_SETTER(debug, curl_debug_callback _Nullable)
AUTHCTL_SETTER(prereq, curl_prereq_callback _Nullable)
#undef AUTHCTL_SETTER

static inline CURLcode authctl_curl_get_long(CURL *_Nonnull easy, CURLINFO info,
                                             long *_Nonnull value) {
  return authctl_curl()->curl_easy_getinfo(easy, info, value);
}

#endif
