// crypt_r(3) of libxcrypt, opened when the first key is derived: a command that needs no passphrase
// does not pay for it, and authctl runs where it is not installed.
// https://man7.org/linux/man-pages/man3/crypt_r.3.html    https://github.com/besser82/libxcrypt
#pragma once

#pragma clang assume_nonnull begin

// CRYPT_OUTPUT_SIZE of <crypt.h>, the longest hash with its NUL.
enum { AUTHCTL_CRYPT_OUTPUT = 384 };

/// Writes the hash of `phrase` by `setting` (crypt(5)) into `hash`, which has AUTHCTL_CRYPT_OUTPUT
/// bytes. 0 when it is there, the errno of crypt_r(3) when it is not, and -1 when there is no
/// crypt_r: authctl_crypt_error() says why. What it needed of memory is wiped.
int authctl_crypt(const char *phrase, const char *setting, char *hash);

/// The words of dlerror(3) after authctl_crypt() gave -1; else "".
const char *authctl_crypt_error(void);

#pragma clang assume_nonnull end
