#!/usr/bin/env bash
# Makes sure that what a target needs is there: prepare.sh build|check|test|bench|demo|packages|client|image|chart|repository|publish. Installs Debian packages only when some are
# missing (root; else names them), and npm packages when node_modules is older than the lock file.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A package_of=([g++]=g++ [strip]=binutils [objdump]=binutils [curl]=curl [ip]=iproute2 [nft]=nftables [ssh]=openssh-client
  [sshd]=openssh-server [squid]=squid-openssl [tinyproxy]=tinyproxy [unshare]=util-linux
  [sysctl]=procps [openssl]=openssl [tmux]=tmux [vim]=vim [htop]=htop
  # Other people's SSH clients: small, and no servers.
  [plink]=putty-tools [puttygen]=putty-tools [dbclient]=dropbear-bin
  # Copy files through us.
  [rsync]=rsync [git]=git [sshfs]=sshfs
  # An X server without a screen, and a client of it.
  [Xvfb]=xvfb [xauth]=xauth [xdpyinfo]=x11-utils
  # Balancers, of which nginx ends TLS or passes it on, and a client of our image registry.
  [nginx]=nginx-light [/usr/lib/nginx/modules/ngx_stream_module.so]=libnginx-mod-stream [haproxy]=haproxy [skopeo]=skopeo
  # Beside what we measure ourselves.
  [pgrep]=procps [ss]=iproute2
  # Browsers for the Web UI and web applications.
  [chromium]=chromium [firefox-esr]=firefox-esr
  # Databases, and their clients.
  [pg_ctlcluster]=postgresql [psql]=postgresql-client [mariadbd]=mariadb-server [mariadb]=mariadb-client [redis-server]=redis-server [redis-cli]=redis-tools
  [javac]=default-jdk-headless [/usr/share/java/postgresql.jar]=libpostgresql-jdbc-java [/usr/share/java/mariadb-java-client.jar]=libmariadb-java
  [/usr/lib/python3/dist-packages/pymongo]=python3-pymongo [/usr/lib/python3/dist-packages/redis]=python3-redis
  # A Kubernetes cluster, and a client of it.
  [etcd]=etcd-server [containerd]=containerd [runc]=runc [/usr/lib/cni/bridge]=containernetworking-plugins [/usr/bin/busybox]=busybox-static
  [/usr/lib/python3/dist-packages/kubernetes]=python3-kubernetes
  # Machines with systemd.
  [systemd-nspawn]=systemd-container [mmdebstrap]=mmdebstrap [nsenter]=util-linux [setpriv]=util-linux [flock]=util-linux
  [shellcheck]=shellcheck
  # Packages and their repositories.
  [rpmbuild]=rpm [rpmsign]=rpm [apt-ftparchive]=apt-utils [createrepo_c]=createrepo-c [gpg]=gnupg [gpgv]=gpgv [lintian]=lintian [rpmlint]=rpmlint
  [aarch64-linux-gnu-g++]=g++-aarch64-linux-gnu [aarch64-linux-gnu-strip]=binutils-aarch64-linux-gnu)
tools=(g++ strip objdump)
packing=(rpmbuild)
databases=(pg_ctlcluster psql mariadbd mariadb redis-server redis-cli javac /usr/share/java/{postgresql,mariadb-java-client}.jar
  /usr/lib/python3/dist-packages/{pymongo,redis})
kubernetes=(etcd containerd runc /usr/lib/cni/bridge /usr/bin/busybox /usr/lib/python3/dist-packages/kubernetes)
publishing=(rpmsign apt-ftparchive createrepo_c gpg)
machines=(systemd-nspawn mmdebstrap nsenter setpriv flock)
case ${1:?what for} in
  build) ;;
  check) tools+=(ssh shellcheck) ;;
  demo) tools+=(curl ip nft squid openssl sysctl unshare setpriv pg_ctlcluster psql) ;;
  test) tools+=(curl ip nft squid tinyproxy ssh sshd unshare openssl sysctl tmux vim htop plink puttygen dbclient rsync git sshfs Xvfb xauth xdpyinfo "${databases[@]}" "${kubernetes[@]}" "${packing[@]}" "${publishing[@]}" "${machines[@]}" shellcheck chromium firefox-esr nginx /usr/lib/nginx/modules/ngx_stream_module.so haproxy skopeo gpgv lintian rpmlint) ;;
  bench) tools+=(curl ip ss ssh sshd openssl pgrep nginx "${databases[@]}" "${kubernetes[@]}") ;;
  packages)
    tools+=("${packing[@]}")
    # ARCH=x64: without the other architecture's packages, no cross tools.
    [ "${ARCH:-}" = x64 ] || tools+=(aarch64-linux-gnu-g++ aarch64-linux-gnu-strip) ;;
  image)
    [ "${ARCH:-}" = x64 ] || tools+=(aarch64-linux-gnu-g++ aarch64-linux-gnu-strip) ;;
  repository) tools=("${publishing[@]}") ;;
  client | chart) tools=() ;;
  publish) tools=(rsync ssh) ;;
  *) echo "prepare.sh: build, check, test, bench, demo, packages, client, image, chart, repository or publish" >&2; exit 2 ;;
esac

missing=()
for tool in "${tools[@]}"; do
  # A library is named by its path.
  PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || [ -e "$tool" ] || missing+=("${package_of[$tool]}")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # policy-rc.d: the servers are wanted as programs, not as running services.
    if [ ! -e /usr/sbin/policy-rc.d ]; then
      printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
      chmod 755 /usr/sbin/policy-rc.d
      trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    apt-get -qq update
    apt-get -qq install --no-install-recommends "${missing[@]}" >/dev/null
  elif [ "$1" = build ]; then
    echo "missing; install as root: apt-get install ${missing[*]}" >&2
    exit 1
  else
    # Tests that need them are skipped, the demo does without and says so; what cannot be done without fails by itself.
    echo "missing; for the whole of it install as root: apt-get install ${missing[*]}" >&2
  fi
fi

if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "npm ci"
  npm ci --no-fund --no-audit --loglevel=error
  touch node_modules/.package-lock.json
fi

# Its programs are compiled once on a machine. Where they cannot be, the script says so, and what needs them is skipped.
case $1 in test | bench) [ "$(id -u)" != 0 ] || scripts/kubernetes.sh build || true ;; esac
