#!/bin/sh
# Prints the version of this tree, which is defined only in Sources/AuthKit/Base/Version.swift.
sed -n 's/^package let version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Sources/AuthKit/Base/Version.swift"
