package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// What a Source answers when it has no answer. ErrAbsent is knowledge ("there
// is no such file"); the others mean that nobody could look.
var (
	ErrAbsent       = fs.ErrNotExist
	ErrDenied       = fs.ErrPermission
	ErrNotCollected = errors.New("not collected in this capture")
	ErrNotRunning   = errors.New("only files are seen here, not a running system")
	ErrNoCommand    = errors.New("command is not installed")
	ErrTimeout      = errors.New("took too long")
	ErrTooBig       = errors.New("larger than fettle reads")
	ErrNetworkMount = errors.New("on a file system that may hang (of another machine, or of a FUSE program), which fettle does not touch")
	ErrNotRegular   = errors.New("not a regular file")
	ErrNotMounted   = errors.New("not mounted here")
	ErrHidden       = errors.New("hidden from this container")
	ErrUnsupported  = errors.New("not supported on this operating system")
)

// SyntaxError is a file that says something its format does not allow.
type SyntaxError struct {
	Path string
	Line int // 1-based; 0 when the format has no lines
	Msg  string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Msg)
}

// IsAbsent reports whether err is the certain knowledge that the thing is not there.
func IsAbsent(err error) bool {
	return errors.Is(err, ErrAbsent) || errors.Is(err, syscall.ENOTDIR)
}

// IsWithheld reports whether err says that nobody could look, or nobody has: the thing may be there.
func IsWithheld(err error) bool {
	return errors.Is(err, ErrDenied) || errors.Is(err, ErrNotCollected)
}

// Reason puts into words why something could not be looked at, for an admin:
// "needs root", "not collected in this capture", "took too long".
func Reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrDenied):
		return "needs root: " + err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return ErrTimeout.Error()
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ") // of errors.Join
}
