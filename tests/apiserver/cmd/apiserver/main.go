// Command apiserver runs one real kube-apiserver with an embedded etcd in one process, for tests.
//
//	apiserver [--dir DIR] [--user NAME[:GROUP,GROUP...]]... [-- extra kube-apiserver flags]
//
// When /readyz answers 200 it prints one line of JSON:
//
//	{"server": URL, "kubeconfig": FILE, "etcd": URL, "dir": DIR, "pid": N}
//
// It ends when its standard input closes, so that it can never outlive the test that started it, or
// on SIGTERM.
//
// Without --dir its state is temporary and removed at the end. With --dir the state stays: a later
// start on the same directory serves the same objects with the same certificate at the same port,
// which is how a test restarts an API server under a running client (killed with SIGKILL or ended
// in good order).
//
// Users: "admin" (system:masters) with DIR/kubeconfig, and one more per --user, whose token is
// "<name>-token" and whose kubeconfig is DIR/<name>.kubeconfig. What a user may do is up to RBAC
// objects that the test creates.
//
// etcd answers JSON at its URL: POST /v3/kv/compaction {"revision": N} forgets the history before
// N, after which a watch that wants to resume there is told 410 Gone (with --watch-cache=false,
// else the API server still remembers).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// startTimeout bounds the wait for /readyz: one second is usual, a machine busy with builds takes
// ten.
const startTimeout = 120 * time.Second

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := flag.String("dir", "", "state directory, kept; without it a temporary one")
	var users userList
	flag.Var(&users, "user", "NAME[:GROUP,GROUP...]: one more user, may be repeated")
	flag.Parse()
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "apiserver")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		*dir = temporary
	}

	// The end is arranged before the start: a test that gives up early must not leave a server behind.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()

	state, err := openState(*dir, users)
	if err != nil {
		return err
	}
	etcd, err := startEtcd(state.path("etcd"))
	if err != nil {
		return err
	}
	defer etcd.stop()

	failed := make(chan error, 1)
	go func() { failed <- serve(ctx, state, etcd.url, flag.Args()) }()
	if err := waitReady(ctx, state.server(), failed); err != nil {
		return err
	}
	if err := state.writeKubeconfigs(); err != nil {
		return err
	}
	line, err := json.Marshal(map[string]any{
		"server": state.server(), "kubeconfig": state.path("kubeconfig"), "etcd": etcd.url, "dir": *dir,
		"pid": os.Getpid(),
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		// The server's own graceful end waits for watches; a test has nothing left to wait for.
		return nil
	}
}

// serve runs kube-apiserver until ctx ends; extra flags come last, so they override ours.
func serve(ctx context.Context, state *state, etcd string, extra []string) error {
	command := app.NewAPIServerCommand()
	command.SetArgs(append([]string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--secure-port=" + state.port,
		"--cert-dir=" + state.path("certs"),
		"--service-account-key-file=" + state.path("sa.key"),
		"--service-account-signing-key-file=" + state.path("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--token-auth-file=" + state.path("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/108",
		"--allow-privileged=true",
		"--endpoint-reconciler-type=none",
	}, extra...))
	return command.ExecuteContext(ctx)
}

// waitReady returns nil once /readyz answers 200, or why it never will.
func waitReady(ctx context.Context, server string, failed <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := insecureClient()
	for {
		if ready(ctx, client, server) {
			return nil
		}
		select {
		case err := <-failed:
			if err == nil {
				err = errors.New("the API server ended before it was ready")
			}
			return err
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func ready(ctx context.Context, client *http.Client, server string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer admin-token")
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// userList is the value of the repeatable flag --user.
type userList []string

func (u *userList) String() string { return fmt.Sprint(*u) }

func (u *userList) Set(value string) error {
	name, _, _ := cut(value)
	if name == "" || name == "admin" || name != filepath.Base(name) {
		return fmt.Errorf("%q is not a usable user name", name)
	}
	*u = append(*u, value)
	return nil
}
