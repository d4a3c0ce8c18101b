internal import CCurl

// Facts about libcurl itself and about a finished transfer.

extension CurlClient {
  /// The library and its TLS: `libcurl 7.88.1 OpenSSL 3.0.19`; nil if it cannot be loaded.
  package static var libraryName: String? {
    guard let curl = authctl_curl()?.pointee, let version = version(of: curl) else { return nil }
    let tls = tlsName(of: curl).utf8.map { $0 == 0x2F ? 0x20 : $0 }
    return DisplayText.oneLine(
      "libcurl \(String(cString: version.version)) \(String(decoding: tls, as: UTF8.self))")
  }

  /// The library's TLS: `OpenSSL/3.0.19`.
  static func tlsName(of curl: authctl_curl) -> String {
    version(of: curl)?.ssl_version.map { String(cString: $0) } ?? "without TLS"
  }

  /// The content encodings that the library decodes.
  static func encodings(of curl: authctl_curl) -> [String] {
    let features = version(of: curl)?.features ?? 0
    func has(_ feature: Int32) -> Bool { features & feature != 0 }
    return ["identity"] + (has(CURL_VERSION_LIBZ) ? ["gzip", "x-gzip", "deflate"] : [])
      + (has(CURL_VERSION_BROTLI) ? ["br"] : []) + (has(CURL_VERSION_ZSTD) ? ["zstd"] : [])
  }

  /// Returns version data without curl_version, which makes libldap load its plug-ins: 1.5 ms.
  /// https://curl.se/libcurl/c/curl_version_info.html
  private static func version(of curl: authctl_curl) -> curl_version_info_data? {
    curl.curl_version_info(CURLVERSION_FIRST)?.pointee
  }

  /// Seconds from the start of the last transfer to the end of the name lookup, TCP connection and
  /// TLS handshake (0: not reached), and the certificate's expiry as libcurl writes it.
  /// https://curl.se/libcurl/c/curl_easy_getinfo.html
  var connection: (named: Double, connected: Double, secured: Double, certificateEnd: String?) {
    func seconds(_ info: CURLINFO) -> Double {
      var value = 0.0
      authctl_curl_get_double(easy, info, &value)
      return value
    }
    var end: String?
    var certificates: UnsafeMutablePointer<curl_certinfo>?
    authctl_curl_get_certificates(easy, CURLINFO_CERTINFO, &certificates)
    // The server's own certificate is the first of the chain.
    if let certificates, certificates.pointee.num_of_certs > 0 {
      var node = certificates.pointee.certinfo?.pointee
      while let line = node?.pointee.data, end == nil {
        let text = String(cString: line)
        let name = "Expire date:".utf8
        if text.utf8.starts(with: name) { end = String(text.utf8.dropFirst(name.count)) }
        node = node?.pointee.next
      }
    }
    return (
      seconds(CURLINFO_NAMELOOKUP_TIME), seconds(CURLINFO_CONNECT_TIME),
      seconds(CURLINFO_APPCONNECT_TIME), end
    )
  }

  /// The facts of the transfer that has just ended.
  var facts: TransferFacts {
    func number(_ info: CURLINFO) -> Int {
      var value = 0
      authctl_curl_get_long(easy, info, &value)
      return value
    }
    func offset(_ info: CURLINFO) -> Int {
      var value: curl_off_t = 0
      authctl_curl_get_offset(easy, info, &value)
      return Int(value)
    }
    func text(_ info: CURLINFO) -> String {
      var value: UnsafePointer<CChar>?
      authctl_curl_get_text(easy, info, &value)
      return value.map { String(cString: $0) } ?? ""
    }
    return TransferFacts(
      status: number(CURLINFO_RESPONSE_CODE), httpVersion: number(CURLINFO_HTTP_VERSION),
      headerSize: number(CURLINFO_HEADER_SIZE), requestSize: number(CURLINFO_REQUEST_SIZE),
      connects: number(CURLINFO_NUM_CONNECTS), verifyResult: number(CURLINFO_SSL_VERIFYRESULT),
      downloaded: offset(CURLINFO_SIZE_DOWNLOAD_T), uploaded: offset(CURLINFO_SIZE_UPLOAD_T),
      nameLookup: offset(CURLINFO_NAMELOOKUP_TIME_T), connect: offset(CURLINFO_CONNECT_TIME_T),
      appConnect: offset(CURLINFO_APPCONNECT_TIME_T),
      preTransfer: offset(CURLINFO_PRETRANSFER_TIME_T),
      startTransfer: offset(CURLINFO_STARTTRANSFER_TIME_T), total: offset(CURLINFO_TOTAL_TIME_T),
      peer: (text(CURLINFO_PRIMARY_IP), number(CURLINFO_PRIMARY_PORT)),
      own: (text(CURLINFO_LOCAL_IP), number(CURLINFO_LOCAL_PORT)))
  }
}
