#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stand_in.h>
#include <stddef.h>
#include <string.h>

static struct authctl_curl table;
static const struct authctl_curl *opened;
static char error_text[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(void) {
  const char *words = dlerror();
  strncpy(error_text, words ? words : "cannot be initialized", sizeof error_text - 1);
}

// What libcurl has for RTMP, LDAP and Kerberos. authctl allows HTTP and HTTPS alone, without Negotiate
// (CURLOPT_PROTOCOLS_STR, CURLOPT_SOCKS5_AUTH). With GnuTLS, SASL and the others that these need they
// are 18 of libcurl's 29 libraries, and 1.6 of the 8.5 ms of a `get` with AUTHCTL_TOKEN.
static const struct authctl_stand_in unused[] = {
    {"librtmp.so.1", "",
     "RTMP_Alloc RTMP_Close RTMP_Connect1 RTMP_ConnectStream RTMP_Free RTMP_Init RTMP_Read "
     "RTMP_SetBufferMS RTMP_SetupURL RTMP_Write"},
    {"libldap-2.5.so.0", "OPENLDAP_2.5",
     "ldap_abandon_ext ldap_err2string ldap_free_urldesc ldap_get_attribute_ber ldap_get_dn_ber "
     "ldap_get_option ldap_init_fd ldap_memfree ldap_msgfree ldap_msgtype ldap_parse_result "
     "ldap_parse_sasl_bind_result ldap_pvt_url_scheme2proto ldap_result ldap_sasl_bind "
     "ldap_search_ext ldap_set_option ldap_start_tls ldap_unbind_ext ldap_url_parse"},
    {"liblber-2.5.so.0", "OPENLDAP_2.5",
     "ber_bvfree ber_free ber_memfree ber_memvfree ber_sockbuf_add_io"},
    {"libgssapi_krb5.so.2", "gssapi_krb5_2_MIT",
     "GSS_C_NT_HOSTBASED_SERVICE gss_delete_sec_context gss_display_name gss_display_status "
     "gss_import_name gss_init_sec_context gss_inquire_context gss_release_buffer gss_release_name "
     "gss_unwrap gss_wrap"},
};

static void open_library(void) {
  void *library =
      authctl_open_without(unused, sizeof unused / sizeof unused[0], "libcurl.so.4");
  if (library == NULL) return fail();
#define AUTHCTL_FIND(name)                                                     \
  if ((*(void **)&table.name = dlsym(library, #name)) == NULL) return fail();
  AUTHCTL_CURL_FUNCTIONS(AUTHCTL_FIND)
#undef AUTHCTL_FIND
  if (table.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return fail();
  opened = &table;
}

const struct authctl_curl *authctl_curl(void) {
  pthread_once(&once, open_library);
  return opened;
}

const char *authctl_curl_error(void) { return error_text; }
