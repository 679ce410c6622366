# Sourced by the build scripts of the Go programs that tests need: where they are cached, which Go
# builds them, how.

go=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tools" && pwd)/go
cache=${XDG_CACHE_HOME:-$HOME/.cache}/isthmus
kubernetes_version=v1.37.2

# content_key DIR...: a short hash of everything the programs are made of.
content_key() {
  find "$@" -type f ! -name '*.md' ! -path '*/__pycache__/*' | LC_ALL=C sort |
    while read -r file; do
      echo "${file##*/}"
      cat "$file"
    done | sha256sum | cut -c1-12
}

# build_once OUT FUNCTION: makes directory OUT by calling FUNCTION with a directory to fill, unless
# it is there already. A build that is cut off leaves no OUT; of two at the same time one waits for
# the other.
build_once() {
  local out=$1 fill=$2 lock
  [ -d "$out" ] && return
  mkdir -p "$cache"
  exec {lock}> "$out.lock"
  flock "$lock"
  if [ ! -d "$out" ]; then
    rm -rf "$out.partial"
    mkdir "$out.partial"
    echo "building ${out##*/} with $("$go" env GOVERSION); the first time takes minutes" >&2
    "$fill" "$out.partial" >&2
    mv "$out.partial" "$out"
  fi
  exec {lock}>&-
  rm -f "$out.lock"
}

# go_build ARGS...: two jobs at most, so that a build in the background leaves the machine usable.
# The version is what the programs call themselves; without it they would be v0.0.0-master.
go_build() {
  local at=k8s.io/component-base/version minor=${kubernetes_version#v1.}
  local flags="-s -w -X $at.gitVersion=$kubernetes_version"
  flags+=" -X $at.gitMajor=1 -X $at.gitMinor=${minor%.*}"
  GOTOOLCHAIN=local "$go" build -p 2 -buildvcs=false -ldflags "$flags" "$@"
}
