/// Calls of a recipe whose tokens are bound to a key (RFC 9449).
extension RecipeClient {
  /// Sends a call without the prefetch, and once more if the server asks for a nonce in its proof
  /// (RFC 9449, sections 8 and 9).
  ///
  /// - Throws: as `send`; `client_error` when the server accepts no nonce.
  func sendAlone(
    _ call: RecipeRequest, values: TemplateValues, cookies: CookieJar, permitted: SessionLimits?,
    seconds: Double,
    _ onAnswer: (_ status: Int) -> Void = { _ in }
  ) throws(Failure) -> RecipeResponse {
    let start = clock().seconds
    let token = call.authorization == .access ? values[.accessToken] : nil
    let proof = call.asksForTokens || token != nil ? try proof(for: values) : nil
    func once(nonce: String?, _ seconds: Double) throws(Failure) -> RecipeResponse {
      try sendOnce(
        call, values, cookies, proof.map { ($0, token, nonce) }, permitted, seconds, onAnswer)
    }
    var answer = try once(nonce: nil, seconds)
    guard let proof else { return answer }
    var nonce: String?
    if answer.asksForNonce, let given = ProofOfPossession.nonce(in: answer.head) {
      nonce = given
      answer = try once(nonce: given, seconds - max(0, clock().seconds - start))
    }
    if let failure = ProofOfPossession.invalidProof(answer.head, at: answer.url) { throw failure }
    guard answer.asksForNonce else {
      proof.keepNonce(of: answer.head, from: answer.url, token: token, used: nonce)
      return answer
    }
    // This 401 refuses no token. A token endpoint may also answer with an error code.
    if answer.head.asksForNonce { throw ProofOfPossession.refusal(at: answer.url) }
    return answer
  }

  /// Returns what signs the proofs of requests with `values`; nil if these have no key.
  func proof(for values: TemplateValues) throws(Failure) -> ProofOfPossession? {
    guard let key = values[.proofKey] else { return nil }
    if let lastProof, lastProof.secret.hasSameBytes(as: key) { return lastProof }
    let proof = try ProofOfPossession(key, clock: clock)
    lastProof = proof
    return proof
  }
}
