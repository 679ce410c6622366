package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// state is what survives a restart: a directory with the port, the key pair for service accounts,
// the users, and (put there by others) etcd's data and the serving certificate.
type state struct {
	dir   string
	port  string
	users userList
}

// openState makes the directory, or finds in it the port and key of an earlier run. The users are
// always those given.
func openState(dir string, users userList) (*state, error) {
	s := &state{dir: dir, users: users}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	port, err := kept(s.path("port"), func() ([]byte, error) { return []byte(freePort()), nil })
	if err != nil {
		return nil, err
	}
	s.port = string(port)
	if _, err := kept(s.path("sa.key"), serviceAccountKey); err != nil {
		return nil, err
	}
	return s, os.WriteFile(s.path("tokens.csv"), []byte(tokens(users)), 0o600)
}

func (s *state) path(name string) string { return filepath.Join(s.dir, name) }

func (s *state) server() string { return "https://127.0.0.1:" + s.port }

// writeKubeconfigs needs the serving certificate, which kube-apiserver signs for itself at its
// first start.
func (s *state) writeKubeconfigs() error {
	ca, err := os.ReadFile(s.path("certs/apiserver.crt"))
	if err != nil {
		return err
	}
	admin := kubeconfig(s.server(), ca, "admin")
	if err := os.WriteFile(s.path("kubeconfig"), admin, 0o600); err != nil {
		return err
	}
	for _, user := range s.users {
		name, _, _ := cut(user)
		file := s.path(name + ".kubeconfig")
		if err := os.WriteFile(file, kubeconfig(s.server(), ca, name), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(server string, ca []byte, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: %[3]s}}]
clusters: [{name: test, cluster: {server: %[1]q, certificate-authority-data: %[2]s}}]
users: [{name: %[3]s, user: {token: %[3]s-token}}]
`, server, base64.StdEncoding.EncodeToString(ca), user)
}

// tokens is kube-apiserver's static token file: token, user, uid, "group,group".
func tokens(users userList) string {
	lines := []string{"admin-token,admin,admin,system:masters"}
	for _, user := range users {
		name, groups, _ := cut(user)
		line := fmt.Sprintf("%[1]s-token,%[1]s,%[1]s", name)
		if groups != "" {
			line += fmt.Sprintf(",%q", groups)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// cut splits NAME:GROUP,GROUP.
func cut(user string) (name, groups string, found bool) { return strings.Cut(user, ":") }

// kept reads a file, or makes it with what make returns.
func kept(file string, make func() ([]byte, error)) ([]byte, error) {
	content, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if content, err = make(); err != nil {
		return nil, err
	}
	return content, os.WriteFile(file, content, 0o600)
}

// freePort asks the kernel for a port; another process may take it before we bind, which then fails
// loudly.
func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

// serviceAccountKey makes the key pair that kube-apiserver insists on.
func serviceAccountKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return pem.EncodeToMemory(block), nil
}

// insecureClient talks to a server whose certificate does not exist yet when the first question is
// asked.
func insecureClient() *http.Client {
	config := &tls.Config{InsecureSkipVerify: true}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
}
