// libcrypto of OpenSSL 3, opened when the first hash or key is needed: a command that needs none
// does not pay for it. Most have it already, as libcurl brings it. Types come from the real headers.
#ifndef AUTHCTL_CCRYPTO_H
#define AUTHCTL_CCRYPTO_H

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

// EVP_DigestInit_ex, EVP_DigestUpdate and EVP_DigestFinal_ex are used by Tests/DemoAPI only.
#define AUTHCTL_CRYPTO_FUNCTIONS(X)                                            \
  X(BIO_free)                                                                  \
  X(BIO_new_mem_buf)                                                           \
  X(EVP_CIPHER_CTX_ctrl)                                                       \
  X(EVP_CIPHER_CTX_free)                                                       \
  X(EVP_CIPHER_CTX_new)                                                        \
  X(EVP_CipherFinal_ex)                                                        \
  X(EVP_CipherInit_ex)                                                         \
  X(EVP_CipherUpdate)                                                          \
  X(EVP_Digest)                                                                \
  X(EVP_DigestFinal_ex)                                                        \
  X(EVP_DigestInit_ex)                                                         \
  X(EVP_DigestSign)                                                            \
  X(EVP_DigestSignInit)                                                        \
  X(EVP_DigestUpdate)                                                          \
  X(EVP_MD_CTX_free)                                                           \
  X(EVP_MD_CTX_new)                                                            \
  X(EVP_PBE_scrypt)                                                            \
  X(EVP_PKEY_CTX_add1_hkdf_info)                                               \
  X(EVP_PKEY_CTX_free)                                                         \
  X(EVP_PKEY_CTX_new_id)                                                       \
  X(EVP_PKEY_CTX_set1_hkdf_key)                                                \
  X(EVP_PKEY_CTX_set1_hkdf_salt)                                               \
  X(EVP_PKEY_CTX_set_ec_paramgen_curve_nid)                                    \
  X(EVP_PKEY_CTX_set_hkdf_md)                                                  \
  X(EVP_PKEY_CTX_set_rsa_padding)                                              \
  X(EVP_PKEY_CTX_set_rsa_pss_saltlen)                                          \
  X(EVP_PKEY_derive)                                                           \
  X(EVP_PKEY_derive_init)                                                      \
  X(EVP_PKEY_free)                                                             \
  X(EVP_PKEY_get_base_id)                                                      \
  X(EVP_PKEY_get_bits)                                                         \
  X(EVP_PKEY_keygen)                                                           \
  X(EVP_PKEY_keygen_init)                                                      \
  X(EVP_aes_256_gcm)                                                           \
  X(EVP_sha256)                                                                \
  X(EVP_sha384)                                                                \
  X(HMAC)                                                                      \
  X(PEM_read_bio_PrivateKey)                                                   \
  X(i2d_PUBKEY)                                                                \
  X(i2d_PrivateKey)

struct authctl_crypto {
#define AUTHCTL_FIELD(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_CRYPTO_FUNCTIONS(AUTHCTL_FIELD)
#undef AUTHCTL_FIELD
};

// The library's functions; NULL where libcrypto.so.3 is not installed.
const struct authctl_crypto *_Nullable authctl_crypto(void);

// Why there are none, in the dynamic linker's words: dlerror(3).
const char *_Nonnull authctl_crypto_error(void);

#endif
