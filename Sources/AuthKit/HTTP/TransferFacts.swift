/// The facts that libcurl reports at the end of a transfer (`-w`).
/// https://curl.se/libcurl/c/curl_easy_getinfo.html
package struct TransferFacts {
  /// The status of the last answer; 0 without an answer.
  package var status: Int
  /// HTTP version as libcurl numbers it: 1 is HTTP/1.0, 2 is HTTP/1.1, 3 is HTTP/2, 30 is HTTP/3.
  package var httpVersion: Int
  /// Bytes of the answer's headers, and of the request without its body.
  package var headerSize, requestSize: Int
  /// The number of new connections.
  package var connects: Int
  /// 0: the certificate was verified.
  package var verifyResult: Int
  /// Body bytes on the wire.
  package var downloaded, uploaded: Int
  /// Microseconds from the start of the transfer to the end of each phase.
  package var nameLookup, connect, appConnect, preTransfer, startTransfer, total: Int
  /// Addresses and ports; empty without a connection.
  package var peer, own: (address: String, port: Int)
}
