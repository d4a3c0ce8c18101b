internal import CCurl

// How one transfer reaches a server, and how it verifies the server.

extension CurlClient {
  /// Sets libcurl's options for the connection to the server from `settings`.
  func setConnectionOptions(_ settings: TransferSettings) {
    authctl_curl_set_long(
      easy, CURLOPT_SSLVERSION,
      Int(settings.atLeastTLS13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2))
    authctl_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, settings.insecure ? 0 : 1)
    authctl_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, settings.insecure ? 0 : 2)
    // If authorities are set, do not use the library's own as well (rule B13).
    trustsFolderAlone = false
    if settings.caFile != nil || settings.caFolder != nil {
      authctl_curl_set_text(easy, CURLOPT_CAINFO, settings.caFile)
      authctl_curl_set_text(easy, CURLOPT_CAPATH, settings.caFolder)
    } else if let systemAuthorities {
      trustsFolderAlone = !needsBundle
      authctl_curl_set_text(easy, CURLOPT_CAINFO, needsBundle ? systemAuthorities.file : nil)
      authctl_curl_set_text(easy, CURLOPT_CAPATH, systemAuthorities.folder)
    }
    authctl_curl_set_text(easy, CURLOPT_SSLCERT, settings.clientCertificate)
    authctl_curl_set_text(easy, CURLOPT_SSLKEY, settings.clientKey)
    // Without a passphrase, OpenSSL itself would ask for one on the terminal.
    set(CURLOPT_KEYPASSWD, settings.keyPassphrase ?? SharedSecret(""))
    authctl_curl_set_text(easy, CURLOPT_PINNEDPUBLICKEY, settings.pinnedKey)
    authctl_curl_set_text(easy, CURLOPT_PROXY, settings.proxy)
    authctl_curl_set_text(easy, CURLOPT_NOPROXY, settings.noProxy)
    set(CURLOPT_PROXYUSERPWD, settings.proxyUser)
    // Not Kerberos, whose library is left out.
    authctl_curl_set_long(easy, CURLOPT_SOCKS5_AUTH, authctl_basic)
    authctl_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    authctl_curl_set_text(easy, CURLOPT_UNIX_SOCKET_PATH, settings.unixSocket)
    resolve = set(CURLOPT_RESOLVE, settings.resolve + (settings.ahead?.resolution ?? []))
    if let connection = settings.ahead {
      connection.offer(to: easy)
    } else if ahead != nil {
      ConnectionAhead.withdraw(from: easy)
    }
    ahead = settings.ahead
    connectTo = set(CURLOPT_CONNECT_TO, settings.connectTo)
    let family =
      switch settings.family {
      case .any: CURL_IPRESOLVE_WHATEVER
      case .ipv4: CURL_IPRESOLVE_V4
      case .ipv6: CURL_IPRESOLVE_V6
      }
    authctl_curl_set_long(easy, CURLOPT_IPRESOLVE, Int(family))
    let version =
      switch settings.httpVersion {
      case .best: CURL_HTTP_VERSION_2TLS
      case .http1: CURL_HTTP_VERSION_1_1
      case .http2: CURL_HTTP_VERSION_2_0
      }
    authctl_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(version))
    authctl_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, remark)
  }

  /// Returns the file and the hashed folder of the system's certificate authorities; OpenSSL uses
  /// either. nil without both or without OpenSSL.
  /// https://curl.se/libcurl/c/CURLINFO_CAPATH.html
  static func systemAuthorities(
    _ easy: UnsafeMutableRawPointer, _ curl: authctl_curl
  ) -> (file: UnsafePointer<CChar>, folder: UnsafePointer<CChar>)? {
    var file: UnsafePointer<CChar>?
    var folder: UnsafePointer<CChar>?
    authctl_curl_get_text(easy, CURLINFO_CAINFO, &file)
    authctl_curl_get_text(easy, CURLINFO_CAPATH, &folder)
    // Other TLS libraries read the whole folder.
    guard let file, let folder, tlsName(of: curl).utf8.starts(with: "OpenSSL/".utf8) else {
      return nil
    }
    return (file, folder)
  }

  /// Whether to repeat a transfer that ended with `result`, now with the system's CA bundle file in
  /// addition to the CA folder.
  ///
  /// The bundle costs 19 ms to read; the folder costs nothing, because OpenSSL looks up only the
  /// authority it needs. If the folder lacks that authority, verification failed before anything
  /// was sent.
  func triesBundle(after result: CURLcode) -> Bool {
    guard result == CURLE_PEER_FAILED_VERIFICATION, trustsFolderAlone,
      let systemAuthorities
    else { return false }
    needsBundle = true
    trustsFolderAlone = false
    authctl_curl_set_text(easy, CURLOPT_CAINFO, systemAuthorities.file)
    return true
  }

  private func set(_ option: CURLoption, _ secret: SharedSecret?) {
    guard let secret else {
      authctl_curl_set_text(easy, option, nil)
      return
    }
    var text = SecretBuilder(capacity: secret.secret.count + 1)
    text.append(secret.secret)
    text.append(0)
    text.secret().withBytes {
      // libcurl copies it.
      _ = authctl_curl_set_text(easy, option, $0.bindMemory(to: CChar.self).baseAddress)
    }
  }

  /// Returns the list, which libcurl uses until the option is set again.
  private func set(_ option: CURLoption, _ lines: [String]) -> CurlList {
    let list = CurlList(lines, curl)
    authctl_curl_set_pointer(easy, option, list.first)
    return list
  }
}

/// A libcurl list.
final class CurlList {
  let first: UnsafeMutablePointer<curl_slist>?
  private let curl: authctl_curl

  init(_ lines: [String], _ curl: authctl_curl) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { list = curl.curl_slist_append(list, line) }
    first = list
    self.curl = curl
  }

  deinit { curl.curl_slist_free_all(first) }
}

/// Advice for a TLS failure, by its cause.
enum TLSAdvice {
  /// Whether the server ended an established connection: TLS 1.3 checks the client's certificate
  /// that late.
  static func isAlert(_ remark: String?) -> Bool { remark?.contains(bytesOf: "alert") ?? false }

  static func failure(_ code: CURLcode, _ detail: String, _ origin: String) -> Failure {
    let problem = problem(code, detail)
    var failure = Failure(
      .tls, "TLS with \(origin) failed: \(DisplayText.oneLine(detail, limit: 200))",
      hint: hint(problem))
    failure.tlsProblem = problem
    return failure
  }

  /// https://curl.se/libcurl/c/libcurl-errors.html
  private static func problem(_ code: CURLcode, _ detail: String) -> Failure.TLSProblem {
    func says(_ words: String...) -> Bool { words.contains { detail.contains(bytesOf: $0) } }
    if code == CURLE_SSL_PINNEDPUBKEYNOTMATCH { return .pinnedKey }
    if code == CURLE_SSL_CERTPROBLEM || says("alert certificate required", "alert bad certificate")
    {
      return .clientCertificate
    }
    if says("expired") { return .expired }
    if says("not yet valid") { return .notYetValid }
    if says("subject name", "subjectAltName") { return .hostName }
    if says(
      "version", "wrong version number", "unsupported protocol", "no protocols available",
      "SSL_ERROR_SYSCALL", "unexpected eof", "reset by peer")
    {
      return .protocolVersion
    }
    return .authority
  }

  private static func hint(_ problem: Failure.TLSProblem) -> String {
    switch problem {
    case .pinnedKey:
      "the server's key does not match --pinnedpubkey; ask its owner whether it has changed"
    case .clientCertificate:
      "give a client certificate with --cert FILE and --key FILE (passphrase: --pass-file FILE)"
    case .expired, .notYetValid:
      "the server's owner must renew the certificate, unless this machine's clock is wrong"
    case .hostName:
      "use the host name in the certificate; --connect-to can send it to another machine"
    case .protocolVersion: "the port may not use TLS, or only an old version"
    case .authority: "use --cacert FILE to trust the authority that signed the server's certificate"
    }
  }
}

/// Advice for a proxy that refuses a request.
enum ProxyAdvice {
  static func isRefusal(_ remark: String?) -> Bool {
    remark?.contains(bytesOf: "CONNECT tunnel failed") ?? false
  }

  static func failure(_ detail: String, _ origin: String) -> Failure {
    Failure(
      .network,
      "the proxy refused to connect to \(origin): "
        + DisplayText.oneLine(detail, limit: 100),
      hint: detail.contains(bytesOf: "407")
        ? "set AUTHCTL_PROXY_USER=NAME:PASSWORD to sign in to the proxy"
        : "choose the proxy with -x, --noproxy, HTTPS_PROXY and NO_PROXY")
  }
}
