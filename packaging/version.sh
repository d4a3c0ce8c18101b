#!/bin/sh
# Prints the version, which is only in Sources/AuthKit/Base/Version.swift.
sed -n 's/^package let version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Sources/AuthKit/Base/Version.swift"
