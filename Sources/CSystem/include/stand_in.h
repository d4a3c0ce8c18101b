// Opens a library without those of its libraries that only its unused parts call.
#ifndef AUTHCTL_STAND_IN_H
#define AUTHCTL_STAND_IN_H

/// A library to leave out, and what ld.so looks for in it before it takes the one that depends on it.
struct authctl_stand_in {
  /// The name in DT_NEEDED: `libmount.so.1`.
  const char *_Nonnull library;
  /// The versions of its symbols, with a space between two, at most four; "" if they have none.
  const char *_Nonnull versions;
  /// The symbols, with a space between two; at most 32.
  const char *_Nonnull symbols;
};

/// Opens `library` as dlopen(3) does, lazily and for the caller alone, with a stand-in for each of at
/// most eight libraries. Where the system does not allow that, or `library` looks for more in them,
/// they are loaded as usual. A process can have sixteen stand-ins.
///
/// A stand-in is an ELF file of a page, in memory. Whoever calls one of its functions ends the process
/// with abort(3). What the process loads later gets the stand-in too, if it depends on a library of
/// that name.
/// https://man7.org/linux/man-pages/man3/dlopen.3.html
void *_Nullable authctl_open_without(const struct authctl_stand_in *_Nonnull stand_ins, int count,
                                     const char *_Nonnull library);

#endif
