//go:build !linux

package machine

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

// Linux cannot be changed, because it is not one.
type Linux struct{ BootIDFile, SystemctlPath string }

func (Linux) BootID() (string, error)                          { return "", errOnlyLinux }
func (Linux) Resolve(string) (string, error)                   { return "", errOnlyLinux }
func (Linux) Look(string, bool) (Image, error)                 { return Image{}, errOnlyLinux }
func (Linux) ReadValue(string) (string, error)                 { return "", errOnlyLinux }
func (Linux) List(string) ([]string, error)                    { return nil, errOnlyLinux }
func (Linux) Links() ([]Link, error)                           { return nil, errOnlyLinux }
func (Linux) MDSuperblock(string) (*mdraid.Superblock, error)  { return nil, errOnlyLinux }
func (Linux) Systemctl() (string, bool)                        { return "", false }
func (Linux) Mkdir(string, uint32) error                       { return errOnlyLinux }
func (Linux) Rmdir(string) error                               { return errOnlyLinux }
func (Linux) Create(string, []byte) (ID, error)                { return ID{}, errOnlyLinux }
func (Linux) Overwrite(Ref, []byte) error                      { return errOnlyLinux }
func (Linux) HeldOpen(OpenFile) (int64, error)                 { return 0, errOnlyLinux }
func (Linux) Room(string) (int64, error)                       { return 0, errOnlyLinux }
func (Linux) Unlink(Ref) error                                 { return errOnlyLinux }
func (Linux) Rename(Ref, string) error                         { return errOnlyLinux }
func (Linux) Chown(Ref, uint32, uint32) error                  { return errOnlyLinux }
func (Linux) Chmod(Ref, uint32) error                          { return errOnlyLinux }
func (Linux) SetXattr(Ref, string, []byte) error               { return errOnlyLinux }
func (Linux) RemoveXattr(Ref, string) error                    { return errOnlyLinux }
func (Linux) SetModTime(Ref, int64) error                      { return errOnlyLinux }
func (Linux) Sync(Ref) error                                   { return errOnlyLinux }
func (Linux) WriteValue(string, string) error                  { return errOnlyLinux }
func (Linux) SetMTU(int, int) error                            { return errOnlyLinux }
func (Linux) Solicit(context.Context, string) error            { return errOnlyLinux }
func (Linux) CopyOpen(context.Context, OpenFile, string) error { return errOnlyLinux }
func (Linux) Ask(context.Context, []string, time.Duration) (Output, error) {
	return Output{}, errOnlyLinux
}
func (Linux) Run(context.Context, []string, time.Duration) (Output, error) {
	return Output{}, errOnlyLinux
}

// Sum is the SHA-256 of content in hexadecimal.
func Sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
