// libqrencode 4, opened when the first picture is drawn. The declarations are those of its
// qrencode.h, which every libqrencode.so.4 has: to build authctl, no header has to be installed for
// one optional picture. https://fukuchi.org/works/qrencode/manual/
#ifndef AUTHCTL_CQRENCODE_H
#define AUTHCTL_CQRENCODE_H

// A symbol of `width` rows and columns; bit 0 of a byte of `data` is set if its module is dark.
typedef struct {
  int version;
  int width;
  unsigned char *_Nonnull data;
} QRcode;

// NULL with errno ERANGE if the text is too long for a symbol.
QRcode *_Nullable QRcode_encodeString(const char *_Nonnull string, int version, int level, int hint,
                                      int casesensitive);
void QRcode_free(QRcode *_Nullable qrcode);

enum { QR_ECLEVEL_L = 0, QR_MODE_8 = 2 };

#define AUTHCTL_QRENCODE_FUNCTIONS(X)                                          \
  X(QRcode_encodeString)                                                       \
  X(QRcode_free)

struct authctl_qrencode {
#define AUTHCTL_FIELD(name) __typeof__(name) *_Nonnull name;
  AUTHCTL_QRENCODE_FUNCTIONS(AUTHCTL_FIELD)
#undef AUTHCTL_FIELD
};

// The library's functions; NULL where libqrencode.so.4 is not installed.
const struct authctl_qrencode *_Nullable authctl_qrencode(void);

// Why there are none, in the dynamic linker's words: dlerror(3).
const char *_Nonnull authctl_qrencode_error(void);

#endif
