#!/bin/sh
# Prints the version of this tree: the one place that has it is Sources/AuthKit/Base/Version.swift.
sed -n 's/^package let version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Sources/AuthKit/Base/Version.swift"
