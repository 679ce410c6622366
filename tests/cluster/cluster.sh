#!/bin/bash
# A real Kubernetes cluster on one machine: kube-apiserver with etcd, controller manager, scheduler,
# and per node a kubelet, containerd, runc and kube-proxy. Root only, for cgroups and namespaces.
#
#   cluster.sh up BIN STATE [NODES [CLOUD [OWNER]]]
#                                            starts it; returns when every node has registered
#   cluster.sh down STATE                    ends it; leaves STATE's files only, logs among them
#   cluster.sh kubectl STATE ARGS...         kubectl as admin
#   cluster.sh enter STATE NAME COMMAND...   runs a command in the network of a host: cp, where it
#                                            reaches the API server by STATE/kubeconfig, node1, …
#   cluster.sh import STATE ARCHIVE          gives all nodes the images of an OCI archive
#
# BIN is what tests/cluster/build prints. No cloud controller manager is part of it: nodes keep the
# uninitialized taint until one runs; with CLOUD none (default: external) kubelets set none. With
# OWNER, a pid, the cluster ends when that process does, if nobody has ended it before.
#
#     client 10.77.0.10 ---- 10.77.0.2  router  192.168.50.1 ---- 192.168.50.10 cp
#       .20 to .29 too                                       \--- 192.168.50.11 node1, and so on
#
# The router is every node's way out, and its only one: who wants pods on different nodes to reach
# each other makes routes there.
#
# Everything lives in one pid and one mount namespace, with /run, /var/lib and /var/log of its own,
# so ending one process ends all of them, and the kernel takes mounts, networks and links with it.
# What is left for `down` are the empty cgroups and the few sysctls that a kubelet sets.
set -euo pipefail

# A kubelet sets these for the whole machine, whatever namespace it is in.
kubelet_sysctls=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops
  kernel.keys.root_maxkeys kernel.keys.root_maxbytes)

main() {
  here=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
  case ${1:-} in
    up) shift && up "$@" ;;
    down) state=$(cd "$2" && pwd) && down ;;
    kubectl) state=$(cd "$2" && pwd) && shift 2 && kubectl_outside "$@" ;;
    enter) state=$(cd "$2" && pwd) && shift 2 && enter "$@" ;;
    import) state=$(cd "$2" && pwd) && import "$3" ;;
    inside) shift && inside "$@" ;;
    follow) state=$2 && tail --pid="$3" -f /dev/null && down ;;
    *) sed -n '5,11s/^# *//p' "$0" && exit 2 ;;
  esac
}

# --- From the outside ---------------------------------------------------------------------------

up() {
  local bin nodes=${3:-2} cloud=${4:-external} owner=${5:-}
  bin=$(cd "$1" && pwd)
  state=$(mkdir -p "$2" && cd "$2" && pwd)
  case "$bin $state" in
    /run/* | /var/lib/* | /var/log/* | *" /run/"* | *" /var/lib/"* | *" /var/log/"*)
      echo "cluster.sh: BIN and STATE may not be below /run, /var/lib or /var/log" >&2
      exit 1 ;;
  esac
  echo "$bin" > "$state/bin"
  rm -f "$state/ready"
  sysctl -e "${kubelet_sysctls[@]}" > "$state/sysctl.before" 2> /dev/null || true
  trap 'down; tail -n 5 "$state"/*.log >&2' ERR
  unshare --pid --fork --kill-child --mount --mount-proc --propagation private \
    "$here" inside "$bin" "$state" "$nodes" "$cloud" > "$state/inside.log" 2>&1 < /dev/null &
  echo $! > "$state/pid"
  if [ -n "$owner" ]; then
    "$here" follow "$state" "$owner" > /dev/null 2>&1 < /dev/null &
  fi
  # The namespaces are only usable once their first process runs in them.
  until_true 120 is_up_or_over
  [ -e "$state/ready" ]
}

is_up_or_over() { [ -e "$state/ready" ] || ! is_running; }

is_running() { kill -0 "$(cat "$state/pid")" 2> /dev/null; }

# down may be called at any time, also twice, also after a start that failed halfway.
down() {
  trap - ERR
  [ -e "$state/pid" ] || return 0
  # unshare takes the first process of the namespace with it, and the kernel all others.
  local first
  first=$(first_process)
  kill -KILL "$(cat "$state/pid")" ${first:+"$first"} 2> /dev/null || true
  until_true 30 is_over "$first"
  until_true 30 remove_cgroups
  sysctl -qp "$state/sysctl.before" 2> /dev/null || true
  rm "$state/pid"
}

is_over() { ! is_running && [ ! -e "/proc/${1:-none}" ]; }

# remove_cgroups: those of our containers, whose ids containerd left behind as directory names.
remove_cgroups() {
  local container left=0
  for container in "$state"/node*/run/io.containerd.runtime.v2.task/k8s.io/*/; do
    find /sys/fs/cgroup -depth -type d -path "*/k8s.io/$(basename "$container")*" \
      -exec rmdir {} + 2> /dev/null || left=1
  done
  # Their parent is shared with any other containerd of the machine, so only an empty one goes.
  find /sys/fs/cgroup -depth -maxdepth 2 -type d -name k8s.io -exec rmdir {} + 2> /dev/null || true
  return $left
}

# first_process: its pid as seen from here.
first_process() {
  cat "/proc/$(cat "$state/pid")/task/$(cat "$state/pid")/children" 2> /dev/null | tr -d ' ' || true
}

enter() {
  local name=$1
  shift
  exec nsenter --net="/proc/$(first_process)/root/run/netns/$name" "$@"
}

import() {
  local bin socket
  bin=$(cat "$state/bin")
  for socket in "$state"/node*/containerd.sock; do
    import_image "$(dirname "$socket")" "$1"
  done
}

kubectl_outside() { enter cp "$(cat "$state/bin")/kubectl" --kubeconfig="$state/kubeconfig" "$@"; }

# until_true SECONDS COMMAND...: asks ten times a second.
until_true() {
  local tries=$(($1 * 10))
  shift
  while ! "$@" > /dev/null 2>&1; do
    if ((tries-- == 0)); then
      echo "cluster.sh: gave up waiting: $*" >&2
      return 1
    fi
    sleep 0.1
  done
}

# --- From the inside, as the first process of the namespaces --------------------------------------

inside() {
  bin=$1
  state=$2
  cloud=$4
  local nodes=$3 i
  for directory in /run /var/lib /var/log; do
    mount -t tmpfs tmpfs "$directory"
  done
  until_true 10 test -s "$state/pid"
  ip netns add sw
  ip -n sw link set lo up
  ip -n sw link add br0 type bridge
  ip -n sw link set br0 up
  outside
  control_plane
  for i in $(seq "$nodes"); do
    node "node$i" "192.168.50.$((10 + i))"
  done
  touch "$state/ready"
  wait
}

# start NAME NAMESPACE COMMAND...: in the background, with a log. nsenter, since `ip netns exec`
# hides the cgroup mounts.
start() {
  local name=$1 namespace=$2
  shift 2
  nsenter --net="/run/netns/$namespace" "$@" > "$state/$name.log" 2>&1 < /dev/null &
}

# join NAMESPACE ADDRESS: a host on the switch.
join() {
  ip netns add "$1"
  ip -n "$1" link set lo up
  ip -n sw link add "v$1" type veth peer name eth0 netns "$1"
  ip -n sw link set "v$1" master br0 up
  ip -n "$1" addr add "$2/24" dev eth0
  ip -n "$1" link set eth0 up
}

# outside: the nodes' way out, and somebody who comes in by it.
outside() {
  local i
  join router 192.168.50.1
  ip netns add client
  ip -n client link set lo up
  ip -n router link add front type veth peer name eth0 netns client
  ip -n router addr add 10.77.0.2/24 dev front
  ip -n router link set front up
  for i in 10 $(seq 20 29); do
    ip -n client addr add "10.77.0.$i/24" dev eth0
  done
  ip -n client link set eth0 up
  ip -n client route add default via 10.77.0.2
  nsenter --net=/run/netns/router sysctl -qw net.ipv4.ip_forward=1
}

control_plane() {
  join cp 192.168.50.10
  # The API server ends when its standard input closes; this one never does.
  mkfifo /run/never
  exec 3<> /run/never
  nsenter --net=/run/netns/cp "$bin/apiserver" --dir "$state/apiserver" -- --bind-address=0.0.0.0 \
    --advertise-address=192.168.50.10 --endpoint-reconciler-type=lease \
    --kubelet-preferred-address-types=InternalIP \
    > "$state/apiserver.out" 2> "$state/apiserver.log" <&3 &
  until_true 60 grep -q kubeconfig "$state/apiserver.out"
  local port
  port=$(cat "$state/apiserver/port")
  cat > "$state/kubeconfig" << END
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: admin}}]
clusters:
- name: test
  cluster:
    server: "https://192.168.50.10:$port"
    certificate-authority: "$state/apiserver/certs/apiserver.crt"
users: [{name: admin, user: {token: admin-token}}]
END
  start controller-manager cp "$bin/kube-controller-manager" --kubeconfig="$state/kubeconfig" \
    --leader-elect=false --secure-port=0 \
    --allocate-node-cidrs --cluster-cidr=10.244.0.0/16 \
    --service-account-private-key-file="$state/apiserver/sa.key" \
    --root-ca-file="$state/apiserver/certs/apiserver.crt" \
    --node-monitor-period=2s --node-monitor-grace-period=20s
  start scheduler cp "$bin/kube-scheduler" --kubeconfig="$state/kubeconfig" --leader-elect=false \
    --secure-port=0
}

# node NAME ADDRESS
node() {
  local name=$1 directory=$state/$1
  mkdir -p "$directory"/{containerd,run,kubelet,cni,certs}
  join "$name" "$2"
  ip -n "$name" route add default via 192.168.50.1
  nsenter --net="/run/netns/$name" sysctl -qw net.ipv4.ip_forward=1
  container_runtime "$name" "$directory"
  kubelet "$name" "$directory" "$2"
  pod_network "$name" "$directory"
}

container_runtime() {
  local name=$1 directory=$2 image
  cat > "$directory/containerd.toml" << END
version = 3
root = "$directory/containerd"
state = "$directory/run"
[grpc]
  address = "$directory/containerd.sock"
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "$directory/cni"
[plugins.'io.containerd.internal.v1.opt']
  path = "$directory/opt"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "native"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "registry.k8s.io/pause:3.10.1"
END
  PATH=$bin:$PATH start "$name-containerd" "$name" "$bin/containerd" -c "$directory/containerd.toml"
  until_true 30 test -S "$directory/containerd.sock"
  for image in pause echo; do
    import_image "$directory" "$bin/$image.tar"
  done
}

# import_image DIRECTORY ARCHIVE: of a node.
import_image() {
  "$bin/ctr" -a "$1/containerd.sock" -n k8s.io images import --local --snapshotter native "$2"
}

kubelet() {
  local name=$1 directory=$2 who=--cloud-provider=external
  # Without a cloud a kubelet says itself what its address is.
  [ "$cloud" = external ] || who=--node-ip=$3
  cat > "$directory/kubelet.yaml" << END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
containerRuntimeEndpoint: unix://$directory/containerd.sock
makeIPTablesUtilChains: false
maxPods: 20
# Often, so that writers of nodes/status meet.
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 1s
resolvConf: ""
END
  start "$name-kubelet" "$name" "$bin/kubelet" --config="$directory/kubelet.yaml" \
    --kubeconfig="$state/kubeconfig" --root-dir="$directory/kubelet" \
    --cert-dir="$directory/certs" --hostname-override="$name" "$who"
}

# The pod network of a node can only be set up when the controller manager has given it a range.
pod_network() {
  local name=$1 directory=$2 range
  until_true 60 has_range "$name"
  range=$(range_of "$name")
  cat > "$directory/cni/10-pods.conflist" << END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$directory/ipam",
            "ranges": [[{"subnet": "$range"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
  cat > "$directory/proxy.yaml" << END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $state/kubeconfig}
mode: nftables
hostnameOverride: $name
# Without it, it would be the node's own address as it was half a minute after the start: none, where
# nobody has initialized the node by then.
nodePortAddresses: [0.0.0.0/0]
clusterCIDR: 10.244.0.0/16
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
healthzBindAddress: 0.0.0.0:10256
metricsBindAddress: 127.0.0.1:10249
END
  start "$name-proxy" "$name" "$bin/kube-proxy" --config="$directory/proxy.yaml"
}

range_of() { kubectl_inside get node "$1" -o jsonpath='{.spec.podCIDR}'; }

has_range() { range_of "$1" | grep -q /; }

kubectl_inside() {
  nsenter --net=/run/netns/cp "$bin/kubectl" --kubeconfig="$state/kubeconfig" "$@"
}

main "$@"
