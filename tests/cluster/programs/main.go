// Command programs is every Kubernetes program of the test cluster but the API server, chosen by
// the name it is called by: one binary of 100 MB instead of four.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	command := command(filepath.Base(os.Args[0]))
	if command == nil {
		fmt.Fprintln(os.Stderr, "call me kube-controller-manager, kube-proxy, kube-scheduler or kubelet")
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}

func command(name string) *cobra.Command {
	switch name {
	case "kube-controller-manager":
		return manager.NewControllerManagerCommand()
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	}
	return nil
}
