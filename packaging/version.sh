#!/bin/sh
# Prints the version of this tree: the one place that has it is Sources/AuthKit/Version.swift.
sed -n 's/^public let version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Sources/AuthKit/Version.swift"
