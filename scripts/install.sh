#!/bin/sh
# Installs platform and its updater from a signed repository, with the host's own package manager. See install.sh --help.
# Nothing happens before the last line, which only a whole download has.
set -u

# The proxy that serves this script fills in its own address.
PLATFORM_PROXY=''

usage() {
  cat <<'EOF'
usage: install.sh [VERSION] EDITION [--proxy HOST[:PORT]] [--repository URL] [--ca FILE] [--key-fingerprint HEX]... [--dry-run]

  VERSION                 exactly this version of platform-ent and platform-ent-updater, such as 1.2.3; auto, or left out: the
                          one that the cluster's version channel names
  EDITION                 cloud: the channel stable/cloud; enterprise: stable/v<major>
  --proxy HOST[:PORT]     the cluster's public address; the packages come from https://HOST/packages
  --repository URL        other packages than the proxy's: https, the folder that holds apt/, yum/ and keys/
  --ca FILE               PEM: authority of the certificate of the proxy and of the repository, if the system does not know it
  --key-fingerprint HEX   accept only a signing key of this fingerprint (once for each key, while keys are being replaced)
  --dry-run               print what would be done; nothing is changed, nothing is downloaded (but for the channel's version)
  --help                  this text

HTTPS_PROXY and NO_PROXY are respected; to have the agent and its updates use them too, put them into /etc/default/platform.
Run again, it changes nothing; with another version, it moves to exactly that one; with another edition, packages and updates move
to that one's channels together. When it fails, its changes are undone.

exit status: 0 installed, or already installed    1 the package manager failed
             2 wrong arguments                       3 wrong signature or certificate
             4 not root, and neither sudo nor doas   5 the version is not in the repository
             7 held by the admin, or locked          9 the repository cannot be reached
            11 this system is not supported
EOF
}

say() { printf '%s\n' "$*" >&2; }

# fail STATUS SENTENCE [HINT]
fail() {
  say "install.sh: $2"
  [ -z "${3-}" ] || say "  $3"
  exit "$1"
}

quote() { printf "'%s' " "$@" | sed "s/'\([A-Za-z0-9_.,:@%+=/~-][A-Za-z0-9_.,:@%+=/~-]*\)'/\1/g; s/ \$//"; }

parse_arguments() {
  version='' edition='' proxy=$PLATFORM_PROXY repository='' ca='' fingerprints='' dry_run='' positional=0
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --dry-run) dry_run=yes ;;
      --proxy | --repository | --ca | --key-fingerprint)
        [ -n "${2-}" ] || fail 2 "$1 requires a value"
        set_option "$1" "$2"
        shift ;;
      --proxy=?* | --repository=?* | --ca=?* | --key-fingerprint=?*) set_option "${1%%=*}" "${1#*=}" ;;
      -*) fail 2 "unknown option $1" "run install.sh --help for the options" ;;
      *)
        positional=$((positional + 1))
        case $positional in
          1) version=${1#v} ;;
          2) edition=$1 ;;
          *) fail 2 "unexpected argument: $1" "install.sh VERSION EDITION" ;;
        esac ;;
    esac
    shift
  done
  # Left out, it is the edition that comes first.
  case $positional:$version in 1:cloud | 1:enterprise) edition=$version version=auto ;; esac
}

set_option() {
  case $1 in
    --proxy) proxy=$2 ;;
    --repository) repository=$2 ;;
    --ca) ca=$2 ;;
    --key-fingerprint) fingerprints="$fingerprints $(printf %s "$2" | tr -d ' :' | tr A-F a-f)" ;;
  esac
}

is_version() { matches "$1" '[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.-]+)?'; }

check_arguments() {
  [ "$version" = auto ] || is_version "$version" ||
    fail 2 "the first argument must be a version such as 1.2.3${version:+, not \"$version\"}" "see install.sh --help"
  case $edition in
    cloud) endpoint=stable/cloud ;;
    enterprise) endpoint=default ;;
    *) fail 2 "the second argument must be cloud or enterprise${edition:+, not \"$edition\"}" ;;
  esac
  proxy=${proxy#https://} proxy=${proxy%/}
  [ -z "$proxy" ] || matches "$proxy" '([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?' || fail 2 "--proxy must be HOST or HOST:PORT"
  [ "$version" != auto ] || [ -n "$proxy" ] || fail 2 "no version given, and only a cluster names one" "give VERSION, or --proxy HOST:PORT"
  [ -n "$repository" ] || repository=${proxy:+https://$proxy/packages}
  [ -n "$repository" ] || fail 2 "no repository given: pass --proxy HOST:PORT, the address of your cluster, or --repository URL"
  repository=${repository%/}
  # No credentials: the address is written to disk.
  matches "$repository" 'https://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?' ||
    fail 2 "--repository must be https://HOST[:PORT]/FOLDER, without user, password or query"
  [ -z "$ca" ] || grep -q -- '-----BEGIN CERTIFICATE-----' "$ca" 2>/dev/null || fail 2 "--ca: $ca is not a readable PEM file with certificates"
  for one in $fingerprints; do matches "$one" '[0-9a-f]{40}' || fail 2 "--key-fingerprint must be 40 hexadecimal digits, not \"$one\""; done
  host=${repository#https://} host=${host%%/*}
  case $host in \[*) host=${host%%]*} host=${host#\[} ;; *) host=${host%%:*} ;; esac
}

# The channel's version where none was given, and what follows from the version.
settle_version() {
  [ "$version" != auto ] || ask_version
  channel=stable/cloud
  [ "$edition" = cloud ] || channel=stable/v${version%%.*}
  native=$(printf %s "$version" | sed 's/-/~/')
}

ask_version() {
  place=$proxy/v1/webapi/automaticupgrades/channel/$endpoint/version
  get "https://$place" "$temp/version" || fail 9 "$proxy has no version channel $endpoint" "is --proxy the address of your cluster?"
  version=$(head -c 200 "$temp/version" | tr -d '\r') version=${version#v}
  [ "$version" != none ] || fail 5 "the cluster's channel $endpoint wants no version right now" "give VERSION, or see: tctl status"
  is_version "$version" || fail 9 "the answer from $place is not a version" "is there a login page between this host and the cluster?"
  say "the cluster's channel $endpoint wants $version"
}

# matches TEXT EXPRESSION: the whole text, which is one line
matches() { [ "$(printf '%s\n' "$1" | wc -l)" -eq 1 ] && printf '%s\n' "$1" | grep -Eqx -- "$2"; }

check_system() {
  [ "$(uname -s)" = Linux ] || fail 11 "$(uname -s) is not supported" "platform runs on Linux"
  case $(uname -m) in
    x86_64 | amd64) deb_arch=amd64 rpm_arch=x86_64 ;;
    aarch64 | arm64) deb_arch=arm64 rpm_arch=aarch64 ;;
    *) fail 11 "there are no packages for $(uname -m)" "there are for x86_64 and aarch64" ;;
  esac
  # shellcheck disable=SC1091
  about=$( (ID='' ID_LIKE=''; . /etc/os-release 2>/dev/null; printf '%s %s' "$ID" "$ID_LIKE"))
  manager=''
  for one in $about; do
    case $one in
      debian | ubuntu) manager=apt ;;
      rhel | fedora | centos | rocky | almalinux | ol | amzn) manager=yum; ! has dnf || manager=dnf ;;
      suse | sles | opensuse | opensuse-leap | opensuse-tumbleweed) manager=zypper ;;
    esac
    [ -z "$manager" ] || break
  done
  [ -n "$manager" ] || fail 11 "this system is not supported: /etc/os-release says \"${about% }\"" "Debian, Ubuntu, RHEL, Fedora, SUSE and their kin are"
  program=$manager
  [ "$manager" != apt ] || program=apt-get
  has "$program" || fail 11 "$program is not installed on this system"
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) libc=${libc#glibc }
  case $libc in
    2.[0-9] | 2.1[0-9] | 2.2[0-7] | [01].* | '') fail 11 "the C library of this system is ${libc:+glibc }${libc:-not glibc}" "platform needs glibc 2.28 or newer" ;;
  esac
  has curl || has wget || fail 11 "neither curl nor wget is installed" "install one of them"
}

has() { command -v "$1" >/dev/null 2>&1; }

check_root() {
  elevate=''
  [ "$(id -u)" -ne 0 ] || return 0
  if has sudo; then elevate=sudo; elif has doas; then elevate=doas; elif [ -z "$dry_run" ]; then
    fail 4 "this must run as root" "neither sudo nor doas is installed"
  fi
}

# Programs that install packages know the lower-case names only. Some want http_proxy where others want https_proxy.
find_proxy() {
  https_proxy=${HTTPS_PROXY:-${https_proxy-}} no_proxy=${NO_PROXY:-${no_proxy-}}
  unset HTTPS_PROXY NO_PROXY
  if [ -n "$https_proxy" ]; then export https_proxy; else unset https_proxy; fi
  if [ -n "$no_proxy" ]; then export no_proxy; else unset no_proxy; fi
  export LC_ALL=C DEBIAN_FRONTEND=noninteractive
}

# root COMMAND...: as root, without input. What sudo takes out of the environment goes through a pipe: the address of a proxy
# holds a password, which no command line may show.
root() {
  if [ -z "$elevate" ]; then "$@" </dev/null; return; fi
  # shellcheck disable=SC2016
  printf '%s\n%s\n' "${https_proxy-}" "${no_proxy-}" | "$elevate" sh -c '
    IFS= read -r https_proxy; IFS= read -r no_proxy; LC_ALL=C DEBIAN_FRONTEND=noninteractive
    [ -z "$https_proxy" ] || export https_proxy; [ -z "$no_proxy" ] || export no_proxy; export LC_ALL DEBIAN_FRONTEND
    exec "$@" </dev/null' sh "$@"
}

# change COMMAND...: root, or what it would be
change() {
  if [ -n "$dry_run" ]; then printf '%s%s\n' "${elevate:+$elevate }" "$(quote "$@")"; else root "$@"; fi
}

# put FILE SOURCE: writes it at once, or not at all; remembered, to be taken back. Not in a pipe: that would forget.
put() {
  if [ -n "$dry_run" ]; then
    printf 'write %s\n' "$1"
    sed 's/^/    /' "$2"
    return
  fi
  ! cmp -s "$2" "$1" || return 0
  number=$((number + 1))
  [ ! -e "$1" ] || root cp -p "$1" "$temp/old.$number" || fail 1 "could not keep a copy of $1"
  make_folder "$(dirname "$1")"
  printf '%s %s\n' "$number" "$1" >>"$temp/written"
  { root cp "$2" "$1.new" && root chmod 644 "$1.new" && root mv "$1.new" "$1"; } || fail 1 "cannot write $1"
}

# drop FILE: removes it; remembered, to be taken back
drop() {
  if [ -n "$dry_run" ]; then printf 'remove %s\n' "$1"; return; fi
  number=$((number + 1))
  root cp -p "$1" "$temp/old.$number" || fail 1 "could not keep a copy of $1"
  printf '%s %s\n' "$number" "$1" >>"$temp/written"
  root rm -f "$1" || fail 1 "cannot remove $1"
}

make_folder() {
  [ ! -d "$1" ] || return 0
  make_folder "$(dirname "$1")"
  printf '%s\n' "$1" >>"$temp/folders"
  root mkdir -m 755 "$1" || fail 1 "could not create the folder $1"
}

take_back() {
  remove_half
  while read -r back_number back_file; do
    back_old="$temp/old.$back_number"
    if [ ! -e "$back_old" ]; then
      root rm -f "$back_file" "$back_file.new"
    elif ! { root cp -p "$back_old" "$back_file.new" && root mv -f "$back_file.new" "$back_file"; }; then
      root rm -f "$back_file.new"
      kept=yes
      printf 'could not put back %s: what it held is in %s\n' "$back_file" "$back_old" >&2
    fi
  done <"$temp/written"
  sort -r "$temp/folders" | while read -r back_file; do root rmdir "$back_file" 2>/dev/null; done
  for key in $(rpm_keys); do
    # Only what was not there before.
    case " $keys_before " in *" $key "*) ;; *) root rpm --erase "$key" >/dev/null 2>&1 ;; esac
  done
}

# shellcheck disable=SC2329
finish() {
  status=$?
  trap - EXIT
  trap '' INT TERM HUP
  [ "$status" -eq 0 ] || [ -n "$completed" ] || take_back
  [ -n "$kept" ] || rm -rf "$temp"
  exit "$status"
}

rpm_keys() { [ "$manager" = apt ] || rpm -q gpg-pubkey 2>/dev/null | grep '^gpg-pubkey-' | tr '\n' ' '; }

# fetch PATH FILE: of the repository, as get
fetch() { get "$repository/$1" "$2"; }

# get URL FILE: 0 there, 1 not there; exits when it cannot be asked
get() {
  url=$1 asked=${1#https://} asked=${asked%%/*}
  if has curl; then
    code=$(curl --silent --show-error --location --max-redirs 5 --proto =https --tlsv1.2 --connect-timeout 20 --max-time 90 \
      --max-filesize 4194304 ${ca:+--cacert "$ca"} --output "$2" --write-out '%{http_code}' "$url" 2>"$temp/said")
    result=$?
    case $result in
      35 | 51 | 58 | 60 | 77) untrusted ;;
    esac
  else
    wget --no-verbose --server-response --secure-protocol=TLSv1_2 --timeout=20 --tries=1 --max-redirect=0 ${ca:+--ca-certificate="$ca"} \
      --output-document="$2" "$url" 2>"$temp/said"
    result=$?
    [ "$result" -ne 5 ] || untrusted
    code=$(sed -n 's/^ *HTTP\/[0-9.]* \([0-9][0-9][0-9]\).*/\1/p' "$temp/said" | tail -n 1)
    [ "$result" -ne 8 ] || [ "$code" = 407 ] || result=0
  fi
  [ "$result" -eq 0 ] || fail 9 "could not reach $asked: $url" "$(reason)"
  case $code in
    200) return 0 ;;
    404) return 1 ;;
    *) fail 9 "$asked answers $code: $url" ;;
  esac
}

# What curl or wget said went wrong.
reason() { sed -n '/^curl: /p; /^ERROR/p; /ailed/p' "$temp/said" | head -n 1; }

untrusted() {
  fail 3 "the certificate of $asked is not trusted: $(reason)" "if your company has an authority of its own, give its certificate: --ca FILE"
}

get_key() {
  fetch keys/platform.asc "$temp/key.asc" || fail 9 "there is no repository at $repository" "keys/platform.asc is missing there"
  [ "$(head -n 1 "$temp/key.asc" | tr -d '\r')" = '-----BEGIN PGP PUBLIC KEY BLOCK-----' ] ||
    fail 9 "$repository/keys/platform.asc is not a key" "is there a login page between this host and the repository?"
  strict_key || fail 3 "$repository/keys/platform.asc is not exactly one block of keys" "publish it as: gpg --armor --export"
  [ -n "$fingerprints" ] || return 0
  found=0
  for one in $(key_fingerprints); do
    found=$((found + 1))
    case " $fingerprints " in *" $one "*) ;; *) fail 3 "the repository has a different signing key: $one" ;; esac
  done
  [ "$found" -gt 0 ] || fail 3 "could not read the repository's signing key"
}

# key.asc becomes one block of the bytes in `key`, which are those that are looked at: whatever else a package manager would take for
# a key in what came (another block, a blank line that only some take for blank) is refused. RFC 4880, section 6.2.
strict_key() {
  [ "$(tr -d '\000' <"$temp/key.asc" | wc -c)" -eq "$(wc -c <"$temp/key.asc")" ] || return 1
  sed 's/\r$//' "$temp/key.asc" | awk '
    function bad() {state = "bad"; exit}
    state == "" {if ($0 != "-----BEGIN PGP PUBLIC KEY BLOCK-----") bad(); state = "head"; next}
    state == "head" {if ($0 == "") state = "body"; else if ($0 !~ /^[A-Za-z]+: [ -~]*$/) bad(); next}
    state == "end" {if ($0 != "") bad(); next}
    $0 == "-----END PGP PUBLIC KEY BLOCK-----" {state = "end"; next}
    sum != "" {bad()}
    /^=[A-Za-z0-9+\/]+$/ && length($0) == 5 {sum = $0; next}
    /^[A-Za-z0-9+\/]+=?=?$/ && length($0) <= 76 && !padded {padded = /=$/; lines = lines $0 "\n"; next}
    {bad()}
    END {if (state != "end" || lines == "") exit 1; printf "%s", lines >bytes; print sum >check}
  ' bytes="$temp/key.64" check="$temp/key.sum" || return 1
  base64 -d <"$temp/key.64" >"$temp/key" 2>/dev/null || return 1
  {
    printf -- '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n'
    base64 <"$temp/key"
    [ ! -s "$temp/key.sum" ] || grep . "$temp/key.sum"
    printf -- '-----END PGP PUBLIC KEY BLOCK-----\n'
  } >"$temp/key.asc"
}

# Of each primary key: SHA-1 of 0x99, its length in two bytes, and the packet (RFC 4880, section 12.2). gpg is not everywhere. Nothing
# of what is not understood to its last byte.
key_fingerprints() {
  od -An -v -tu1 "$temp/key" | awk '
    {for (i = 1; i <= NF; i++) byte[n++] = $i}
    END {
      for (at = 0; at < n; at += size) {
        first = byte[at++]
        if (first >= 192) {
          tag = first - 192; size = byte[at++]
          if (size >= 192 && size < 224) size = (size - 192) * 256 + byte[at++] + 192
          else if (size == 255) {size = ((byte[at] * 256 + byte[at + 1]) * 256 + byte[at + 2]) * 256 + byte[at + 3]; at += 4}
          else if (size >= 224) exit
        } else {
          if (first < 128 || first % 4 == 3) exit
          tag = int((first - 128) / 4); width = 2 ^ (first % 4); size = 0
          while (width-- > 0) size = size * 256 + byte[at++]
        }
        # Keys, subkeys, signatures, trust, names and pictures.
        if (tag != 6 && tag != 14 && tag != 2 && tag != 12 && tag != 13 && tag != 17) exit
        if (tag == 6) {
          if (byte[at] != 4 || size > 65535) exit
          keys = keys at " " size "\n"
        }
      }
      if (at == n) printf "%s", keys
    }' | while read -r at size; do
    # shellcheck disable=SC2059
    { printf "$(printf '\\231\\%03o\\%03o' $((size / 256)) $((size % 256)))"; tail -c "+$((at + 1))" "$temp/key" | head -c "$size"; } |
      sha1sum | cut -d ' ' -f 1
  done
}

check_channel() {
  case $manager in
    apt) index=apt/dists/$channel/InRelease ;;
    *) index=yum/$channel/$rpm_arch/repodata/repomd.xml ;;
  esac
  fetch "$index" "$temp/index" || missing "there is no channel $channel for this system"
}

missing() { fail 5 "version $version is not in the repository $repository${1:+: $1}"; }

installed() {
  if [ "$manager" = apt ]; then
    # shellcheck disable=SC2016
    state=$(dpkg-query --show --showformat='${db:Status-Status} ${Version}' "$1" 2>/dev/null)
    case $state in 'installed '*) printf %s "${state#installed }" ;; esac
  else
    rpm -q --queryformat '%{VERSION}' "$1" 2>/dev/null | grep -v 'not installed'
  fi
}

has_both() { [ "$(installed platform-ent)" = "$native" ] && [ "$(installed platform-ent-updater)" = "$native" ]; }

write_settings() {
  [ -z "$ca" ] || put /etc/platform-upgrade.d/ca "$ca"
  [ -z "$proxy" ] || write_endpoint
  [ -z "$dry_run" ] || printf 'what %s/keys/platform.asc gives\n' "$repository" >"$temp/key.asc"
  case $manager in
    apt) write_apt ;;
    zypper) write_zypper ;;
    *) write_dnf ;;
  esac
}

# An endpoint that an edition has written moves with the edition; any other is its admin's.
write_endpoint() {
  file=/etc/platform-upgrade.d/endpoint path=v1/webapi/automaticupgrades/channel
  printf '%s/%s/%s\n' "$proxy" "$path" "$endpoint" >"$temp/text"
  asked=$(head -n 1 "$file" 2>/dev/null)
  case $asked in
    '') put "$file" "$temp/text" ;;
    "$proxy/$path/$endpoint") ;;
    "$proxy/$path/default" | "$proxy/$path/stable/cloud")
      put "$file" "$temp/text"
      say "updates ask the channel $endpoint from now on, instead of ${asked#"$proxy/$path/"}" ;;
    *) say "updates continue to ask $asked: $file is unchanged" ;;
  esac
}

# The same three files and their forms are what platform-upgrade works with.
write_apt() {
  put /etc/apt/keyrings/platform.asc "$temp/key.asc"
  if [ -n "$ca" ]; then
    printf 'Acquire::https::%s::CaInfo "/etc/platform-upgrade.d/ca";\n' "$host" >"$temp/text"
    put /etc/apt/apt.conf.d/80platform "$temp/text"
  fi
  printf 'deb [signed-by=/etc/apt/keyrings/platform.asc arch=%s] %s/apt %s main\n' "$deb_arch" "$repository" "$channel" >"$temp/text"
  # Not in sources.list.d: every `apt-get update` of the host would ask it, behind an HTTP proxy in vain. An earlier script put it there.
  put /etc/apt/platform.list "$temp/text"
  ! grep -qs "^deb \\[signed-by=/etc/apt/keyrings/platform.asc arch=" /etc/apt/sources.list.d/platform.list || drop /etc/apt/sources.list.d/platform.list
}

write_dnf() {
  put /etc/pki/rpm-gpg/platform.asc "$temp/key.asc"
  cat >"$temp/text" <<EOF
[platform]
name=platform
baseurl=$repository/yum/$channel/\$basearch
# Only install.sh and platform-upgrade use it: nothing else moves these packages.
enabled=0
excludepkgs=platform-ent platform-ent-updater
gpgcheck=1
repo_gpgcheck=1
gpgkey=file:///etc/pki/rpm-gpg/platform.asc
skip_if_unavailable=0
${ca:+sslcacert=/etc/platform-upgrade.d/ca}
EOF
  put /etc/yum.repos.d/platform.repo "$temp/text"
}

write_zypper() {
  put /etc/pki/rpm-gpg/platform.asc "$temp/key.asc"
  [ -z "$ca" ] || put_authorities
  cat >"$temp/text" <<EOF
[platform]
name=platform
baseurl=$repository/yum/$channel/\$basearch${ca:+?ssl_capath=/etc/platform-upgrade.d/ca.d}
# Only install.sh and platform-upgrade use it: nothing else moves these packages.
enabled=0
autorefresh=0
type=rpm-md
gpgcheck=1
repo_gpgcheck=1
pkg_gpgcheck=1
gpgkey=file:///etc/pki/rpm-gpg/platform.asc
EOF
  put /etc/zypp/repos.d/platform.repo "$temp/text"
}

# zypper takes a folder of authorities, each in a file named for the hash of its subject.
put_authorities() {
  has openssl || fail 11 "--ca requires openssl on this system" "zypper install openssl"
  awk -v to="$temp/ca." '/-----BEGIN CERTIFICATE-----/ {n++} n {print >(to n)}' "$ca"
  for one in "$temp"/ca.*; do
    hash=$(openssl x509 -noout -subject_hash -in "$one" 2>/dev/null) || fail 2 "--ca: $ca has an entry that is not a certificate"
    put "/etc/platform-upgrade.d/ca.d/$hash.$((${one##*.} - 1))" "$one"
  done
}

# attempt COMMAND...: changes something; its output is shown only if it fails. Waits two minutes for another package manager.
attempt() {
  if [ -n "$dry_run" ]; then change "$@"; return; fi
  tries=0
  until root "$@" >"$temp/said" 2>&1; do
    said "$busy" && [ "$tries" -lt 60 ] || return 1
    [ "$tries" -gt 0 ] || say "another package manager is running; waiting for it"
    tries=$((tries + 1))
    sleep 2
  done
}

busy='could not get lock|unable to (acquire|lock)|lock was locked by|management is locked|waiting for process|another app is|transaction lock'

said() { grep -Eqi -- "$1" "$temp/said"; }

show_said() { tail -n 15 "$temp/said" | sed 's#://[^/@ ]*@#://#g; s/^/  | /' >&2; }

# give_up: with the status that fits what the package manager said
give_up() {
  show_said
  if said 'is expired|not valid yet'; then
    fail 3 "the repository's index is out of date, or this host's clock is wrong"
  elif said 'BADSIG|NO_PUBKEY|KEYSIG|EXPSIG|not signed|GPG error|signature|unknown key|hash sum mismatch|checksum|GPG check FAILED'; then
    fail 3 "the repository's signature is wrong: nothing was installed"
  elif said "$busy"; then
    fail 7 "another package manager is running" "run this again when it has finished"
  elif said 'curl error|cannot download|failed to fetch|could not resolve|could not connect|connection (failed|timed out)|download \(curl\)|timeout'; then
    fail 9 "the repository cannot be reached: $repository"
  elif said 'filtered out by exclude|is locked|locked by'; then
    fail 7 "the admin of this host holds platform-ent at its version" "take the lock away first ($manager $([ "$manager" = zypper ] && echo removelock || echo versionlock))"
  elif said 'no match for|unable to find a match|not found in package names|no provider of|was not found|nothing provides platform'; then
    missing
  fi
  fail 1 "$manager failed"
}

install_apt() {
  # shellcheck disable=SC2016
  want=$(dpkg-query --show --showformat='${db:Status-Want} ' platform-ent platform-ent-updater 2>/dev/null)
  case " $want" in *' hold '*) fail 7 "the admin of this host holds platform-ent at its version" "apt-mark unhold platform-ent platform-ent-updater" ;; esac
  if [ -n "$(find /var/lib/dpkg/updates -name '[0-9]*' 2>/dev/null)" ]; then
    say "dpkg was interrupted earlier; finishing that first"
    attempt dpkg --configure -a || give_up
  fi
  # One that was killed in the middle of unpacking: apt will not touch it.
  for one in platform-ent platform-ent-updater; do
    # shellcheck disable=SC2016
    [ "$(dpkg-query --show --showformat='${db:Status-Eflag}' "$one" 2>/dev/null)" != reinstreq ] ||
      attempt dpkg --remove --force-remove-reinstreq --force-depends "$one" || give_up
  done
  # Only our repository: another one that does not answer is none of our business.
  attempt apt-get update -o Dir::Etc::sourcelist=/etc/apt/platform.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 \
    -o APT::Update::Error-Mode=any || give_up
  if [ -n "$dry_run" ]; then
    parts=FOLDER-WITH-ALL-LISTS
  else
    # What the packages depend on is in the system's own lists.
    parts=$temp/parts
    mkdir "$parts"
    for one in /etc/apt/platform.list /etc/apt/sources.list.d/*; do [ ! -r "$one" ] || cp "$one" "$parts/"; done
    for one in platform-ent platform-ent-updater; do
      apt-cache -o Dir::Etc::sourceparts="$parts" madison "$one" | tr -d ' ' | grep -Fq "|$native|" || missing "$one"
    done
  fi
  set -- apt-get install -o Dir::Etc::sourceparts="$parts" --yes --allow-downgrades --no-install-recommends -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold \
    "platform-ent=$native" "platform-ent-updater=$native"
  attempt "$@" && return
  # What they depend on may be in the system's own lists, which a fresh image does not have.
  if said 'unmet dependencies|depends:'; then attempt apt-get update -o Dir::Etc::sourceparts="$parts" && attempt "$@" && return; fi
  give_up
}

install_dnf() {
  attempt "$manager" -y --repo=platform --setopt=platform.excludepkgs= --refresh install "platform-ent-$native" "platform-ent-updater-$native" ||
    give_up
}

# A disabled repository cannot be named to zypper: it gets a folder of its own with an enabled copy. It would take any key that
# the repository itself offers, were it not for the one imported before.
install_zypper() {
  attempt rpm --import /etc/pki/rpm-gpg/platform.asc || give_up
  if [ -n "$dry_run" ]; then
    repos='FOLDER-WITH-THAT-ENABLED'
  else
    repos=$temp/repos
    mkdir "$repos" && sed 's/^enabled=.*/enabled=1/' /etc/zypp/repos.d/platform.repo >"$repos/platform.repo"
  fi
  set -- zypper --non-interactive --reposd-dir "$repos"
  attempt "$@" refresh --force platform || give_up
  attempt "$@" install --oldpackage "platform-ent=$native" "platform-ent-updater=$native" || give_up
}

# Packages of a failed attempt, if there were none before.
remove_half() {
  [ -z "$before" ] || return 0
  if [ "$manager" != apt ]; then
    for one in platform-ent-updater platform-ent; do ! rpm -q "$one" >/dev/null 2>&1 || root rpm --erase --nodeps "$one" >/dev/null 2>&1; done
  elif dpkg-query --status platform-ent platform-ent-updater 2>/dev/null | grep -q '^Status: .* \(unpacked\|half-\|installed\|triggers-\)'; then
    root dpkg --purge --force-remove-reinstreq platform-ent-updater platform-ent >/dev/null 2>&1
  fi
}

main() {
  parse_arguments "$@"
  check_arguments
  check_system
  check_root
  find_proxy
  umask 022
  temp=$(mktemp -d) || fail 1 "there is no room for temporary files"
  : >"$temp/written"
  : >"$temp/folders"
  number=0 completed='' kept='' keys_before=$(rpm_keys) before=$(installed platform-ent)
  trap finish EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  settle_version
  if [ -z "$dry_run" ]; then
    get_key
    check_channel
  fi
  write_settings
  if [ -z "$dry_run" ] && has_both; then
    completed=yes
    say "platform-ent and platform-ent-updater $version are installed already"
    return 0
  fi
  [ -z "$before" ] || [ "$before" = "$native" ] || say "platform-ent $before is installed: changing it to $version"
  case $manager in
    apt) install_apt ;;
    zypper) install_zypper ;;
    *) install_dnf ;;
  esac
  [ -z "$dry_run" ] || return 0
  has_both || fail 1 "$program said that all is well, but platform-ent $version is not installed"
  completed=yes
  say "platform-ent and platform-ent-updater $version are installed ($channel)."
  [ -e /etc/platform-upgrade.d/endpoint ] || say "Updates need the cluster's address: give --proxy HOST:PORT, or write /etc/platform-upgrade.d/endpoint."
  [ -z "${https_proxy-}" ] || grep -qs '^HTTPS_PROXY=' /etc/default/platform ||
    say "The agent and its updates need the HTTP proxy too: put HTTPS_PROXY=... into /etc/default/platform."
  [ -e /etc/platform.yaml ] || say "Next: write /etc/platform.yaml (platform configure --help), then: systemctl enable --now platform"
}

main "$@"
