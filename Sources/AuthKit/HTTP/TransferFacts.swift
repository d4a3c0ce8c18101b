/// What libcurl knows of a transfer at its end (`-w`).
/// https://curl.se/libcurl/c/curl_easy_getinfo.html
package struct TransferFacts {
  /// The status of the last answer; 0 for none.
  package var status: Int
  /// As libcurl numbers them: 1 is HTTP/1.0, 2 is HTTP/1.1, 3 is HTTP/2, 30 is HTTP/3.
  package var httpVersion: Int
  /// Bytes of the answer's headers, and of the request without its body.
  package var headerSize, requestSize: Int
  /// New connections.
  package var connects: Int
  /// 0: the certificate was verified.
  package var verifyResult: Int
  /// Bytes of bodies as they were on the wire.
  package var downloaded, uploaded: Int
  /// Microseconds from the beginning until that was done.
  package var nameLookup, connect, appConnect, preTransfer, startTransfer, total: Int
  /// Addresses and ports; empty for no connection.
  package var peer, own: (address: String, port: Int)
}
