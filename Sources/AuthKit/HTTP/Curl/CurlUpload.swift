internal import CCurl
internal import Glibc

// Bodies: from memory, from files and pipes read while they are sent, and multipart.

extension CurlClient {
  /// Passes the body of `request` to libcurl. The caller keeps the bytes: libcurl reads them only
  /// during the transfer.
  ///
  /// - Returns: the multipart body, to be freed after the transfer; nil for any other.
  /// - Throws: `failed` when a body that was sent before cannot be sent again.
  func body(_ request: WireRequest) throws(Failure) -> OpaquePointer? {
    authctl_curl_set_long(easy, CURLOPT_NOBODY, 0)
    authctl_curl_set_long(easy, CURLOPT_HTTPGET, 1)
    for upload in request.uploads where !upload.rewind() {
      throw Failure(.failed, "the request's body cannot be sent again: part of it has been sent")
    }
    if let body = request.body {
      body.withBytes {
        authctl_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t($0.count))
        // A null pointer would make libcurl ask its read callback for an empty body.
        authctl_curl_set_pointer(easy, CURLOPT_POSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(easy))
      }
    }
    if let upload = request.upload { send(upload) }
    guard !request.parts.isEmpty, let mime = curl.curl_mime_init(easy) else { return nil }
    for part in request.parts {
      guard let added = curl.curl_mime_addpart(mime) else { break }
      _ = curl.curl_mime_name(added, part.name)
      if let fileName = part.fileName { _ = curl.curl_mime_filename(added, fileName) }
      if let type = part.type { _ = curl.curl_mime_type(added, type) }
      if let upload = part.upload {
        send(upload, as: added)
      } else {
        part.value.withBytes {
          _ = curl.curl_mime_data(added, $0.bindMemory(to: CChar.self).baseAddress, $0.count)
        }
      }
    }
    authctl_curl_set_pointer(easy, CURLOPT_MIMEPOST, UnsafeRawPointer(mime))
    return mime
  }

  /// https://curl.se/libcurl/c/CURLOPT_READFUNCTION.html
  private func send(_ upload: StreamedBody) {
    authctl_curl_set_long(easy, CURLOPT_UPLOAD, 1)
    authctl_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(upload.length ?? -1))
    let context = Unmanaged.passUnretained(upload).toOpaque()
    held.append(upload)
    authctl_curl_set_read(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
      CurlClient.read(bytes, size * count, context)
    }
    authctl_curl_set_pointer(easy, CURLOPT_READDATA, context)
    authctl_curl_set_seek(easy, CURLOPT_SEEKFUNCTION) { context, offset, origin in
      CurlClient.seek(context, offset, origin)
    }
    authctl_curl_set_pointer(easy, CURLOPT_SEEKDATA, context)
  }

  /// https://curl.se/libcurl/c/curl_mime_data_cb.html
  private func send(_ upload: StreamedBody, as part: OpaquePointer) {
    held.append(upload)
    _ = curl.curl_mime_data_cb(
      part, curl_off_t(upload.length ?? -1),
      { bytes, size, count, context in
        guard let bytes, let context else { return Int(CURL_READFUNC_ABORT) }
        return CurlClient.read(bytes, size * count, context)
      },
      { context, offset, origin in
        guard let context else { return CURL_SEEKFUNC_FAIL }
        return CurlClient.seek(context, offset, origin)
      }, nil, Unmanaged.passUnretained(upload).toOpaque())
  }

  private static func read(
    _ bytes: UnsafeMutablePointer<CChar>, _ count: Int, _ context: UnsafeMutableRawPointer
  ) -> Int {
    let upload = Unmanaged<StreamedBody>.fromOpaque(context).takeUnretainedValue()
    return upload.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: count))
      ?? Int(CURL_READFUNC_ABORT)
  }

  /// Goes back to the beginning, as libcurl asks when a reused connection turns out to be closed.
  private static func seek(
    _ context: UnsafeMutableRawPointer, _ offset: curl_off_t, _ origin: Int32
  ) -> Int32 {
    let upload = Unmanaged<StreamedBody>.fromOpaque(context).takeUnretainedValue()
    guard offset == 0, origin == SEEK_SET, upload.rewind() else { return CURL_SEEKFUNC_CANTSEEK }
    return CURL_SEEKFUNC_OK
  }
}
