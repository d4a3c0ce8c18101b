extension RecipeRequest.Body {
  /// Every placeholder in it.
  var names: [Template.Name] {
    switch self {
    case .template(let template): template.names
    case .words(let name): [name]
    case .literal: []
    case .array(let items): items.flatMap(\.names)
    case .object(let fields): fields.flatMap(\.value.names)
    }
  }

  /// The placeholders that must have a value for the body to be sent.
  fileprivate var requiredNames: [Template.Name] {
    switch self {
    case .template(let template): template.requiredNames
    case .words, .literal: []
    case .array(let items): items.flatMap(\.requiredNames)
    case .object(let fields): fields.flatMap(\.value.requiredNames)
    }
  }
}

extension RecipeRequest {
  /// Every placeholder of the call, including those of `authorization`, given the headers of a
  /// protected request.
  package func names(request: RequestRecipe) -> [Template.Name] {
    var names = path.names + (body?.names ?? [])
    names += query.flatMap(\.value.names) + headers.flatMap(\.value.names)
    return names + authorizationNames(request) { $0.names }
  }

  /// The placeholders that must have a value for the call to be sent.
  package func requiredNames(request: RequestRecipe) -> [Template.Name] {
    var names = path.names + (body?.requiredNames ?? [])
    names += query.flatMap(\.value.requiredNames) + headers.flatMap(\.value.requiredNames)
    return names + authorizationNames(request) { $0.requiredNames }
  }

  private func authorizationNames(
    _ request: RequestRecipe, _ names: (Template) -> [Template.Name]
  ) -> [Template.Name] {
    switch authorization {
    case .none: []
    case .basic: [.username, .password]
    case .app: [.appKey]
    case .access: (request.headers + request.query).flatMap { names($0.value) }
    case .refresh: [.refreshToken]
    }
  }
}
