import AuthKit
