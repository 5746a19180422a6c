package capture

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"fettle/host"
)

// Failure is an error in a form that survives a file: its words, what it is
// in the sense of errors.Is, and the fs.PathError in it, so that host.Reason
// and host.IsAbsent say of the replayed error what they said of the first.
type Failure struct {
	// Is names what errors.Is finds, from kinds; the first is the main one.
	Is      []string `json:"is,omitempty"`
	Message text     `json:"message"`
	// Op, Path and Inner are of the fs.PathError, if there was one.
	Op    text `json:"op,omitempty"`
	Path  text `json:"path,omitempty"`
	Inner text `json:"inner,omitempty"`
}

// kinds are the errors that a Source may answer with, by the names that
// manifests use. Errno names, not numbers: they differ between systems.
var kinds = []struct {
	name string
	err  error
}{
	{"absent", host.ErrAbsent},
	{"not-a-directory", syscall.ENOTDIR},
	{"denied", host.ErrDenied},
	{"not-collected", host.ErrNotCollected},
	{"not-running", host.ErrNotRunning},
	{"no-command", host.ErrNoCommand},
	{"timeout", host.ErrTimeout},
	{"too-big", host.ErrTooBig},
	{"network-mount", host.ErrNetworkMount},
	{"hidden", host.ErrHidden},
	{"not-regular", host.ErrNotRegular},
	{"unsupported", host.ErrUnsupported},
	{"secret", host.ErrSecret},
	{"not-mounted", host.ErrNotMounted},
	{"deadline", context.DeadlineExceeded},
	{"canceled", context.Canceled},
	{"EINVAL", syscall.EINVAL},
	{"ELOOP", syscall.ELOOP},
	{"EIO", syscall.EIO},
	{"EISDIR", syscall.EISDIR},
	{"ENODEV", syscall.ENODEV},
	{"EBUSY", syscall.EBUSY},
	{"EAGAIN", syscall.EAGAIN},
	{"ENAMETOOLONG", syscall.ENAMETOOLONG},
}

// failure records err; nil for nil.
func failure(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Message: text(err.Error())}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Is = append(f.Is, k.name)
		}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		f.Op, f.Path = text(pe.Op), text(pe.Path)
		if pe.Err != nil {
			f.Inner = text(pe.Err.Error())
		}
	}
	return f
}

// err is the failure as an error again.
func (f *Failure) err() error {
	if f == nil {
		return nil
	}
	e := &replayed{msg: string(f.Message)}
	for _, k := range kinds {
		if slices.Contains(f.Is, k.name) {
			e.is = append(e.is, k.err)
		}
	}
	if f.Op != "" {
		e.path = &fs.PathError{Op: string(f.Op), Path: string(f.Path), Err: &replayed{msg: string(f.Inner), is: e.is}}
	}
	return e
}

// temporary tells of an answer that only says that the asker's time ran out.
func (f *Failure) temporary() bool {
	return f != nil && (slices.Contains(f.Is, "deadline") || slices.Contains(f.Is, "canceled"))
}

// replayed is an error out of a capture.
type replayed struct {
	msg  string
	is   []error
	path *fs.PathError
}

func (e *replayed) Error() string { return e.msg }

func (e *replayed) Is(target error) bool {
	for _, k := range e.is {
		if errors.Is(k, target) {
			return true
		}
	}
	return false
}

func (e *replayed) As(target any) bool {
	pe, ok := target.(**fs.PathError)
	if ok && e.path != nil {
		*pe = e.path
		return true
	}
	return false
}
