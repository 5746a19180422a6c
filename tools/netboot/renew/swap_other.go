//go:build !linux

package renew

import (
	"context"
	"errors"
	"os"
)

const nonblock = 0

var errLinux = errors.New("folders are exchanged on Linux only")

func Note(*os.Root, string) error                  { return errLinux }
func Lock(context.Context, string) (func(), error) { return nil, errLinux }
func Verify(string) error                          { return errLinux }
func Remove(string) error                          { return errLinux }
func Program() (string, error)                     { return "", errLinux }
func Swapped(string, string) (bool, error)         { return false, errLinux }
func Swap(string, string, bool) error              { return errLinux }
