//go:build !linux

package remedy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"fettle/host/mdraid"
)

// errOnlyLinux is what every change says on other systems, where fettle only
// reads captures.
var errOnlyLinux = errors.New("fettle changes Linux hosts only")

type elsewhere struct{}

// NewMachine is a machine that cannot be changed.
func NewMachine() Machine { return elsewhere{} }

func (elsewhere) BootID() (string, error)                         { return "", errOnlyLinux }
func (elsewhere) Resolve(string) (string, error)                  { return "", errOnlyLinux }
func (elsewhere) Look(string, bool) (Image, error)                { return Image{}, errOnlyLinux }
func (elsewhere) ReadValue(string) (string, error)                { return "", errOnlyLinux }
func (elsewhere) List(string) ([]string, error)                   { return nil, errOnlyLinux }
func (elsewhere) Links() ([]Link, error)                          { return nil, errOnlyLinux }
func (elsewhere) MDSuperblock(string) (*mdraid.Superblock, error) { return nil, errOnlyLinux }
func (elsewhere) Systemctl() (string, bool)                       { return "", false }
func (elsewhere) Mkdir(string, uint32) error                      { return errOnlyLinux }
func (elsewhere) Rmdir(string) error                              { return errOnlyLinux }
func (elsewhere) Create(string, []byte) error                     { return errOnlyLinux }
func (elsewhere) Overwrite(string, []byte) error                  { return errOnlyLinux }
func (elsewhere) Unlink(string) error                             { return errOnlyLinux }
func (elsewhere) Rename(string, string) error                     { return errOnlyLinux }
func (elsewhere) Chown(string, uint32, uint32) error              { return errOnlyLinux }
func (elsewhere) Chmod(string, uint32) error                      { return errOnlyLinux }
func (elsewhere) SetXattr(string, string, []byte) error           { return errOnlyLinux }
func (elsewhere) RemoveXattr(string, string) error                { return errOnlyLinux }
func (elsewhere) SetModTime(string, int64) error                  { return errOnlyLinux }
func (elsewhere) Sync(string) error                               { return errOnlyLinux }
func (elsewhere) WriteValue(string, string) error                 { return errOnlyLinux }
func (elsewhere) SetMTU(int, int) error                           { return errOnlyLinux }
func (elsewhere) Solicit(context.Context, string) error           { return errOnlyLinux }
func (elsewhere) Ask(context.Context, []string, time.Duration) (Output, error) {
	return Output{}, errOnlyLinux
}
func (elsewhere) Run(context.Context, []string, time.Duration) (Output, error) {
	return Output{}, errOnlyLinux
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
