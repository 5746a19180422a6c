//go:build unix

package rule

import (
	"syscall"
	"testing"
)

func mkfifo(t *testing.T, name string) { must(t, syscall.Mkfifo(name, 0o644)) }
