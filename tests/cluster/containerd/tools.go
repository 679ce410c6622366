//go:build tools

// Package tools keeps containerd's programs and what they need in go.mod.
package tools

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	_ "github.com/containerd/containerd/v2/cmd/containerd/command"
)
