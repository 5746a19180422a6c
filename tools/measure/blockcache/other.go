//go:build !linux

package blockcache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
)

var errLinux = errors.New("block caches are measured on Linux; stored runs can be compared here")

func ownGroup() *syscall.SysProcAttr                      { return nil }
func own(name, text string) (unlock func(), err error)    { return nil, errLinux }
func lock(*os.File) (free bool, err error)                { return false, errLinux }
func mine(fs.FileInfo) bool                               { return false }
func (t Target) writable() error                          { return errLinux }
func (t Target) number() (major, minor uint32, err error) { return 0, 0, errLinux }
func (t Target) room() (int64, error)                     { return 0, errLinux }
func (t Target) hold() (release func(), err error)        { return nil, errLinux }
func (t Target) conditions(context.Context) Conditions    { return Conditions{Target: t} }
func (t Target) after(ctx context.Context, c *Conditions) {}
