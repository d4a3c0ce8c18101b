// The lower bound for `authctl get`: only the necessary calls, in C. One Secret Service lookup with
// libsecret and one GET with libcurl; both libraries linked, nothing parsed or checked.
//
//   floor URL [ATTRIBUTE VALUE]...    without attributes the token comes from FLOOR_TOKEN

#include <curl/curl.h>
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  if (count < 2) return 2;
  const char *token = getenv("FLOOR_TOKEN");
  if (count > 3) {
    GHashTable *attributes = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 2; i + 1 < count; i += 2) g_hash_table_insert(attributes, words[i], words[i + 1]);
    GError *error = NULL;
    token = secret_password_lookupv_nonpageable_sync(NULL, attributes, NULL, &error);
    if (!token) return 12;
  }
  char header[8192];
  // The item is authctl's whole session; the length of the header does not matter here.
  snprintf(header, sizeof header, "Authorization: Bearer %.200s", token ? token : "");
  CURL *easy = curl_easy_init();
  struct curl_slist *list = curl_slist_append(NULL, header);
  curl_easy_setopt(easy, CURLOPT_URL, words[1]);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  return curl_easy_perform(easy) == CURLE_OK ? 0 : 7;
}
