import FlyingFox
import Foundation

/// Passes each request to the recorder, the tricks and the dialects.
struct Router: HTTPHandler {
  private let control: Control
  private let dialects: [@Sendable (Request) async -> Answer?]
  private let tricks = Tricks()
  private let recorder = Recorder()

  init(options: Options, raw: RawListener?) {
    let (accounts, signer) = (Accounts(), Signer())
    let oauth = OAuth(accounts: accounts, signer: signer, options: options)
    control = Control(
      accounts: accounts, oauth: oauth, tricks: tricks, recorder: recorder, raw: raw)
    let demo = DemoDialect(accounts: accounts, signer: signer, options: options)
    let express = ExpressJWT(accounts: accounts, signer: signer, tokenTTL: options.tokenTTL)
    let vapor = VaporBasic(accounts: accounts, signer: signer, options: options)
    let railsJWT = RailsJWT(accounts: accounts, signer: signer, tokenTTL: options.tokenTTL)
    let turbo = RailsTurbo(accounts: accounts, signer: signer, tokenTTL: options.tokenTTL)
    let selfie = RailsSelfie(accounts: accounts, tokenTTL: options.tokenTTL)
    // The first dialect that answers wins: rails-turbo's `GET /me` comes before demo's and passes
    // on Bearer tokens that are not its own; express-jwt answers everything else under /api.
    dialects = [
      turbo.answer, demo.answer, PlayGround().answer, vapor.answer, railsJWT.answer,
      selfie.answer, express.answer, { await oauth.answer($0) },
    ]
  }

  func handleRequest(_ raw: HTTPRequest) async throws -> HTTPResponse {
    let request = try await Request(raw)
    if let answer = await control.answer(request) { return answer.response(to: request.method) }
    await recorder.note(request)
    guard let trick = await tricks.take(for: request) else {
      return await realAnswer(request).response(to: request.method)
    }
    let real = trick.needsRealAnswer ? await realAnswer(request) : nil
    if let delay = trick.delay { try await Task.sleep(for: .seconds(delay)) }
    return trick.answer(instead: real).response(to: request.method)
  }

  private func realAnswer(_ request: Request) async -> Answer {
    for dialect in dialects {
      if let answer = await dialect(request) { return answer }
    }
    return .json(404, ["message": "Not found"], type: "application/json")
  }
}
