# shellcheck shell=bash disable=SC2154
# Sourced by demo.sh: a Kubernetes API server on the agent's host, which its kubectl reaches through the proxy. The API server is a real one without
# controllers or nodes: etcd of Debian, and the programs that `scripts/kubernetes.sh build` compiles.

kube_programs=$(scripts/kubernetes.sh where)
if [ "$namespaces" != yes ] || ! can etcd || ! can kubectl || [ ! -x "$kube_programs/kube-apiserver" ]; then
  say "10. No Kubernetes control plane here: this needs root, Debian's packages etcd-server and kubernetes-client, and scripts/kubernetes.sh build
# (some five minutes, once on a machine). The Kubernetes section is left out."
  left_out+=("Kubernetes")
  return
fi

say "10. Kubernetes behind the same firewall: an API server on the agent's host, which knows nobody but the agent"
kube=$work/kubernetes
mkdir "$kube"
openssl genrsa -out "$kube/accounts.key" 2048 2>/dev/null
agent_secret=$(head -c 24 /dev/urandom | base64) admin_secret=$(head -c 24 /dev/urandom | base64)
install -m 600 /dev/null "$kube/tokens.csv"
printf '%s,admin,admin,system:masters\n%s,platform-agent,platform-agent\n' "$admin_secret" "$agent_secret" >"$kube/tokens.csv"
on_agent=(ip netns exec "${tag}a")
"${on_agent[@]}" etcd --data-dir "$kube/etcd" --log-level error --unsafe-no-fsync >"$work/etcd.log" 2>&1 &
pids+=($!)
"${on_agent[@]}" "$kube_programs/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --cert-dir="$kube" \
  --bind-address=127.0.0.1 --advertise-address="198.19.$net.2" --endpoint-reconciler-type=none --authorization-mode=RBAC \
  --token-auth-file="$kube/tokens.csv" --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$kube/accounts.key" \
  --service-account-signing-key-file="$kube/accounts.key" --disable-admission-plugins=ServiceAccount >"$work/apiserver.log" 2>&1 &
pids+=($!)
kubeconfig_of() { # token
  printf 'apiVersion: v1\nkind: Config\nclusters: [{ name: c, cluster: { server: "https://127.0.0.1:6443", certificate-authority-data: %s } }]\n' \
    "$(base64 -w0 <"$kube/apiserver.crt")"
  printf 'users: [{ name: u, user: { token: "%s" } }]\ncontexts: [{ name: c, context: { cluster: c, user: u } }]\ncurrent-context: c\n' "$1"
}
await "the API server has its certificate" test -s "$kube/apiserver.crt"
(umask 077 && kubeconfig_of "$admin_secret" >"$kube/admin" && kubeconfig_of "$agent_secret" >"$kube/agent")
as_admin() { "${on_agent[@]}" kubectl --kubeconfig "$kube/admin" "$@"; }
await "the API server is ready" as_admin get --raw /readyz
as_admin apply -f - >/dev/null <<Y
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: platform-agent }
rules:
  - { apiGroups: [""], resources: [users, groups, serviceaccounts], verbs: [impersonate] }
  - { apiGroups: [""], resources: [pods], verbs: [get] }
  - { apiGroups: [authorization.k8s.io], resources: [selfsubjectaccessreviews], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: platform-agent }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: platform-agent }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: platform-agent }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: viewers }
rules: [{ apiGroups: [""], resources: [pods], verbs: [get, list, watch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: viewers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewers }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: viewers }]
Y
for pod in shop-1 shop-2 billing-1; do as_admin run "$pod" --image=registry.test/shop >/dev/null; done
echo "$ tctl create -f demo.yaml      # kind: kube_cluster, with the kubeconfig of the agent's account"
tctl create -f - <<Y
kind: kube_cluster
version: v3
metadata: { name: demo, labels: { env: demo } }
spec: { kubeconfig: $(base64 -w0 <"$kube/agent") }
Y
await "the agent offers the Kubernetes cluster" sh -c "tsh kube ls --format=json | grep -q demo"
show tsh kube ls
export KUBECONFIG=$work/kubeconfig
show tsh kube login demo
echo "$ kubectl get pods      # the role allows shop-*"
kubectl get pods | tee "$work/pods"
grep -q shop-1 "$work/pods"
if grep -q billing-1 "$work/pods"; then exit 1; fi
echo "$ kubectl get pod billing-1"
if kubectl get pod billing-1; then exit 1; fi
await "the request is in the audit log" sh -c "tctl audit ls --event=kube.request --user=alice --format=json | grep -q billing-1"
show tctl audit ls --event=kube.request --user=alice
