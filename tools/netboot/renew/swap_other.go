//go:build !linux

package renew

import "errors"

var errLinux = errors.New("folders are exchanged on Linux only")

func Note(string, string) error            { return errLinux }
func Lock(string) (func(), error)          { return nil, errLinux }
func Remove(string) error                  { return errLinux }
func Program() (string, error)             { return "", errLinux }
func Swapped(string, string) (bool, error) { return false, errLinux }
func Swap(string, string, bool) error      { return errLinux }
