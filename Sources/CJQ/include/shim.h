// libjq, opened when the first filter is compiled. Types come from the real headers.
// https://jqlang.org/manual/
#ifndef AUTHCTL_CJQ_H
#define AUTHCTL_CJQ_H

#include <jq.h>
#include <jv.h>

#define AUTHCTL_JQ_FUNCTIONS(X)                                                \
  X(jq_compile)                                                                \
  X(jq_format_error)                                                           \
  X(jq_get_error_message)                                                      \
  X(jq_halted)                                                                 \
  X(jq_init)                                                                   \
  X(jq_next)                                                                   \
  X(jq_set_error_cb)                                                           \
  X(jq_start)                                                                  \
  X(jq_teardown)                                                               \
  X(jv_copy)                                                                   \
  X(jv_dump_string)                                                            \
  X(jv_free)                                                                   \
  X(jv_get_kind)                                                               \
  X(jv_invalid_get_msg)                                                        \
  X(jv_invalid_has_msg)                                                        \
  X(jv_parse_sized)                                                            \
  X(jv_string_length_bytes)                                                    \
  X(jv_string_value)

struct authctl_jq {
#define AUTHCTL_FIELD(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_JQ_FUNCTIONS(AUTHCTL_FIELD)
#undef AUTHCTL_FIELD
};

// The library's functions; NULL where libjq.so.1 is not installed. From the first call on, the
// process has no variable HOME: libjq would read the file ~/.jq into every filter.
const struct authctl_jq *_Nullable authctl_jq(void);

// Why there are none, in the dynamic linker's words: dlerror(3).
const char *_Nonnull authctl_jq_error(void);

#endif
