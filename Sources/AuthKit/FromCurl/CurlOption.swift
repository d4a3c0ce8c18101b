/// The meaning of a curl option for the request (curl(1), as of 8.17).
enum CurlOption: Equatable {
  case method, url, header, userAgent, referer, bearer
  case data, rawData, encodedData, json, form, literalForm, urlQuery, user, upload
  case get, head, globOff, next
  /// A way to sign in that no recipe has: `--digest`.
  case signIn, signInValue
  /// Recognized and never kept: `--insecure`, `--cookie`.
  case dropped, droppedValue
  /// Irrelevant to the request: where the answer goes, how long to wait, what is printed.
  case silent, silentValue
  /// Unknown, or not possible in a recipe.
  case other, otherValue

  /// Whether the option takes the next word as its value.
  var takesValue: Bool {
    switch self {
    case .method, .url, .header, .userAgent, .referer, .bearer, .data, .rawData, .encodedData,
      .json, .form, .literalForm, .urlQuery, .user, .upload, .signInValue, .droppedValue,
      .silentValue, .otherValue:
      true
    case .get, .head, .globOff, .next, .signIn, .dropped, .silent, .other: false
    }
  }

  /// `--name`, without the dashes.
  init(long name: String) {
    let text = name.utf8
    if let known = Self.known[name] {
      self = known
    } else if text.starts(with: "expand-".utf8) {
      self = .otherValue
    } else if text.starts(with: "no-".utf8) {
      // curl accepts --no- before every option that is a switch.
      let positive = Self.known[String(decoding: text.dropFirst(3), as: UTF8.self)]
      self = positive.map { $0.takesValue ? .other : .silent } ?? .other
    } else {
      self = .other
    }
  }

  /// `-x`.
  init(short letter: UInt8) {
    self = Self.letters[letter].map { CurlOption(long: $0) } ?? .other
  }

  private static let known: [String: CurlOption] = {
    var known: [String: CurlOption] = [
      "request": .method, "url": .url, "header": .header, "user-agent": .userAgent,
      "referer": .referer, "oauth2-bearer": .bearer, "data": .data, "data-ascii": .data,
      "data-binary": .data, "data-raw": .rawData, "data-urlencode": .encodedData, "json": .json,
      "form": .form, "form-string": .literalForm, "url-query": .urlQuery, "user": .user,
      "upload-file": .upload, "get": .get, "head": .head, "globoff": .globOff, "next": .next,
      "aws-sigv4": .signInValue, "insecure": .dropped, "cookie": .droppedValue,
    ]
    for (names, meaning) in lists {
      for name in names.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A }) {
        known[String(decoding: name, as: UTF8.self)] = meaning
      }
    }
    return known
  }()

  private static let lists: [(String, CurlOption)] = [
    ("digest ntlm ntlm-wb negotiate anyauth", .signIn), (silentSwitches, .silent),
    (silentOptions, .silentValue), (otherOptions, .otherValue),
  ]

  private static let silentSwitches = """
    silent show-error verbose include show-headers location compressed fail fail-early
    fail-with-body remote-name remote-name-all remote-header-name remote-time remove-on-error
    no-buffer no-clobber create-dirs progress-bar progress-meter styled-output trace-time
    trace-ids xattr parallel parallel-immediate retry-all-errors retry-connrefused post301
    post302 post303 http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ipv4
    ipv6 tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 sslv2 sslv3 ssl ssl-reqd ssl-no-revoke
    ssl-revoke-best-effort tcp-nodelay tcp-fastopen keepalive alpn npn sessionid basic
    junk-session-cookies path-as-is disable raw tr-encoding buffer clobber
    suppress-connect-headers ca-native cert-status disallow-username-in-url skip-existing
    out-null follow
    """

  private static let silentOptions = """
    output output-dir cookie-jar create-file-mode write-out dump-header max-time connect-timeout
    max-redirs max-filesize retry retry-delay retry-max-time limit-rate rate speed-limit
    speed-time stderr trace trace-ascii trace-config libcurl parallel-max parallel-max-host
    keepalive-time keepalive-cnt expect100-timeout happy-eyeballs-timeout-ms etag-save proto
    proto-default proto-redir tls-max ciphers tls13-ciphers curves sigalgs
    """

  private static let otherOptions = """
    abstract-unix-socket alt-svc cacert capath cert cert-type config connect-to continue-at
    crlfile delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url ech
    egd-file engine etag-compare ftp-account ftp-alternative-to-user ftp-method ftp-port
    ftp-ssl-ccc-mode haproxy-clientip hostpubmd5 hostpubsha256 hsts interface ip-tos
    ipfs-gateway key key-type knownhosts krb local-port login-options mail-auth mail-from
    mail-rcpt netrc-file noproxy pass pinnedpubkey preproxy proxy proxy-cacert proxy-capath
    proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type
    proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype
    proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file range
    request-target resolve sasl-authzid service-name socks4 socks4a socks5 socks5-gssapi-service
    socks5-hostname telnet-option tftp-blksize time-cond tlsauthtype tlspassword tlsuser
    unix-socket upload-flags variable vlan-priority
    """

  /// The long names of curl's letters; any other letter is an option without a value.
  private static let letters: [UInt8: String] = {
    var letters: [UInt8: String] = [:]
    for pair in letterNames.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A }) {
      guard let letter = pair.first else { continue }
      letters[letter] = String(decoding: pair.dropFirst(2), as: UTF8.self)
    }
    return letters
  }()

  private static let letterNames = """
    X=request H=header d=data F=form u=user b=cookie A=user-agent e=referer G=get I=head
    k=insecure g=globoff T=upload-file :=next s=silent S=show-error v=verbose i=include
    L=location o=output O=remote-name J=remote-header-name R=remote-time w=write-out
    D=dump-header c=cookie-jar m=max-time f=fail N=no-buffer #=progress-bar Z=parallel
    0=http1.0 1=tlsv1 2=sslv2 3=sslv3 4=ipv4 6=ipv6 j=junk-session-cookies q=disable
    Y=speed-limit y=speed-time C=continue-at E=cert K=config P=ftp-port Q=quote U=proxy-user
    r=range t=telnet-option x=proxy z=time-cond n=netrc
    """
}
