#!/bin/sh
# Prints the contents of the program as CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json): the
# pinned Swift packages, the Swift runtime, and, marked as excluded, packages that only tests use.
# System libraries opened at run time are not part of it.

set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
swift=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' | head -n 1)
awk -v version="$(packaging/version.sh)" -v swift="$swift" '
  function component(name, version, purl, scope, revision) {
    printf "%s    {\n      \"type\": \"library\",\n      \"name\": \"%s\",\n", comma, name
    printf "      \"version\": \"%s\",\n      \"scope\": \"%s\",\n", version, scope
    printf "      \"purl\": \"%s\"", purl
    if (revision != "")
      printf ",\n      \"properties\": [{\"name\": \"git:revision\", \"value\": \"%s\"}]", revision
    printf "\n    }"
    comma = ",\n"
  }
  function value(line) {
    gsub(/^[^:]*: "|",?$/, "", line)
    return line
  }
  BEGIN {
    printf "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n"
    printf "  \"metadata\": {\n    \"component\": {\n      \"type\": \"application\",\n"
    printf "      \"name\": \"authctl\",\n      \"version\": \"%s\",\n", version
    printf "      \"licenses\": [{\"license\": {\"id\": \"Apache-2.0\"}}]\n    }\n  },\n"
    printf "  \"components\": [\n"
    component("swift", swift, "pkg:github/swiftlang/swift@" swift, "required", "")
  }
  /"location"/ { location = value($0); sub(/\.git$/, "", location) }
  /"revision"/ { revision = value($0) }
  /"version" : "/ {
    name = location
    sub(/.*\//, "", name)
    purl = location
    sub(/^https:\/\//, "", purl)
    scope = name == "FlyingFox" ? "excluded" : "required"
    component(name, value($0), "pkg:swift/" purl "@" value($0), scope, revision)
  }
  END { printf "\n  ]\n}\n" }' Package.resolved
