#!/usr/bin/env bash
# Programs of Kubernetes, for the tests: kubernetes.sh where|build [conformance]. Debian has them as source only. They are compiled once on a
# machine, without touching its packages, and kept outside the clone, for all clones.
#   where         prints the folder, whether or not it is there
#   build         makes it unless it is there; status 1 and the reason where that is not possible
#   conformance   not the programs of a control plane and node (some five minutes), but e2e.test, Kubernetes' own specs (some ten minutes)
# PLATFORM_KUBERNETES_CACHE: where they are kept. The folder's name has the digest of its recipe, which is the shared part below and one of the two functions
# after it: where one of these changes, that alone is compiled again.
set -euo pipefail

# Minutes that compiling may take.
limit=40
case "$(id -u)" in
  0) default=/var/cache/platform-tests ;;
  *) default=${XDG_CACHE_HOME:-$HOME/.cache}/platform-tests ;;
esac
kept=${PLATFORM_KUBERNETES_CACHE:-$default}
self=$(realpath "${BASH_SOURCE[0]}")
version=1.20.2
what=${2:-programs}
digest=$({ echo "$version"; sed -n -e '/^# The shared part/,/^# The end of the shared part/p' -e "/^compile_$what() {/,/^}/p" "$self"; } | sha256sum | cut -c1-12)
case $what in
  programs) out=$kept/kubernetes-$digest made="kube-apiserver, kube-controller-manager, kube-scheduler and kubelet" minutes=five needing="a control plane" ;;
  conformance) out=$kept/kubernetes-e2e-$version-$digest made="e2e.test of Kubernetes $version" minutes=ten needing="Kubernetes' own specs" ;;
  *) echo "kubernetes.sh: conformance, or nothing, not $what" >&2; exit 2 ;;
esac

case ${1:-} in
  where) echo "$out"; exit ;;
  build) [ -e "$out" ] && exit ;;
  # Below, under the lock and with a time limit.
  locked) ;;
  *) echo "kubernetes.sh: where or build" >&2; exit 2 ;;
esac

impossible() {
  echo "kubernetes: $1: tests that need $needing are skipped" >&2
  exit 1
}

if [ "$1" = build ]; then
  [ "$(uname -m)" = x86_64 ] || impossible "compiled for x86_64 only, this is $(uname -m)"
  command -v apt-get >/dev/null || impossible "compiled from a Debian source package, which needs apt-get"
  mkdir -p "$kept" || impossible "$kept cannot be made (PLATFORM_KUBERNETES_CACHE names another)"
  # The temporary folder goes with its maker; what a killed one has left goes here, as nobody else holds the lock.
  flock --exclusive --wait $((limit * 60)) "$kept/lock" timeout --kill-after=10 $((limit * 60)) "$self" locked "$what" ||
    impossible "could not compile (the reason is in $kept/build.log)"
  exit
fi

[ -e "$out" ] && exit
rm -rf "$kept"/half.*
half=$(mktemp -d "$kept/half.XXXXXX")
trap 'rm -rf "$half"' EXIT
echo "compiling $made, once on this machine (some $minutes minutes)"
exec >"$kept/build.log" 2>&1
set -x

# The shared part of both recipes.

# apt with the mirror of this machine and nothing else of it: its lists, packages and configuration stay as they are.
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(SITE)' | head -n 1)
apt=$half/apt
mkdir -p "$apt"/{lists/partial,cache/archives/partial} "$half/root"
: >"$apt/status"
for type in deb deb-src; do
  echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main"
done >"$apt/sources.list"
cat >"$apt/apt.conf" <<END
Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "-";
Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache "$apt/cache";
Acquire::Languages "none"; APT::Install-Recommends "false"; APT::Sandbox::User "root";
END
export APT_CONFIG=$apt/apt.conf
cd "$half"
apt-get update -qq -o APT::Update::Error-Mode=any
apt-get source -qq --download-only kubernetes
apt-get download -qq golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev
for package in ./*.deb; do dpkg-deb -x "$package" root; done
unset APT_CONFIG

export GOROOT=$half/root/usr/lib/go-1.19 GOPATH=$half/go GOCACHE=$half/cache GO111MODULE=off CGO_ENABLED=0 GOFLAGS=-trimpath TMPDIR=$half
PATH=$GOROOT/bin:$PATH
mkdir -p go/src/k8s.io source
tar xzf kubernetes_*.orig.tar.gz -C source --strip-components=1
ln -s "$half/source" go/src/k8s.io/kubernetes
cd go/src/k8s.io/kubernetes
# The vendored reflect2 1.0.1 makes the API server crash under Go 1.18 and newer, at the iteration of a map.
rm -rf vendor/github.com/modern-go/reflect2
cp -r "$half/root/usr/share/gocode/src/github.com/modern-go/reflect2" vendor/github.com/modern-go/reflect2
mkdir "$half/programs"
# Without the clouds' own controllers and Docker, which take a third of the time.
tags='providerless dockerless'
# Flags of the linker, by which programs state the version that these packages hold.
stated_by() {
  local package
  printf '%s' '-s -w'
  for package; do
    package=k8s.io/kubernetes/vendor/k8s.io/$package
    printf ' -X %s' "$package.gitVersion=v$version" "$package.gitMajor=1" "$package.gitMinor=20"
  done
}
# The end of the shared part.

# The control plane and node, with a generated file that the source package lacks. They print the version of one package; the other has that of the API server's
# /version, and of the clients in them.
compile_programs() {
  local folders
  go build -o "$half/openapi-gen" k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
  folders=$(grep -rl '+k8s:openapi-gen=' --include='*.go' pkg staging/src/k8s.io plugin cmd |
    grep -v -e /code-generator/ -e /sample-apiserver/ -e /testdata/ | xargs -n1 dirname | LC_ALL=C sort -u |
    sed -e 's#^staging/src/k8s.io/#k8s.io/kubernetes/vendor/k8s.io/#' -e 's#^\(pkg\|cmd\|plugin\)#k8s.io/kubernetes/\1#' | paste -sd,)
  "$half/openapi-gen" --logtostderr -i "$folders" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
    -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$half/violations"
  go build -tags "$tags" -ldflags "$(stated_by component-base/version client-go/pkg/version)" -o "$half/programs/" \
    k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet}
  "$half/programs/kube-apiserver" --version
}

# The specs, with the manifests that they create objects from. Those of clouds, and of the network and storage, are left out with the clouds' own code, which
# takes half of the time, and does not compile without the clouds' controllers.
compile_conformance() {
  rm test/e2e/scheduling/{nvidia-gpus,ubernetes_lite_volumes}.go test/e2e/instrumentation/monitoring/accelerator.go test/e2e/node/recreate_node.go
  sed -i '/framework\/providers\//d' test/e2e/e2e.go
  sed -i -E '/test\/e2e\/(autoscaling|cloud|lifecycle|network|storage|ui|windows)[/"]/d' test/e2e/e2e_test.go
  go build -o "$half/go-bindata" k8s.io/kubernetes/vendor/github.com/go-bindata/go-bindata/go-bindata
  "$half/go-bindata" -nometadata -o test/e2e/generated/bindata.go -pkg generated -ignore .jpg -ignore .png -ignore .md -ignore 'BUILD(\.bazel)?' \
    test/conformance/testdata/... test/e2e/testing-manifests/... test/e2e_node/testing-manifests/... test/images/... test/fixtures/...
  go test -c -vet=off -tags "$tags" -ldflags "$(stated_by component-base/version)" -o "$half/programs/e2e.test" k8s.io/kubernetes/test/e2e
  "$half/programs/e2e.test" --version
}

"compile_$what"
chmod 755 "$half/programs"
mv "$half/programs" "$out"
find "$kept" -maxdepth 1 -name 'kubernetes-*' -mtime +60 -exec rm -rf {} +
