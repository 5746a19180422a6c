package app

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestUnread(t *testing.T) {
	_, gone := os.Open("/nonexistent/x")
	for want, err := range map[string]error{
		"/nonexistent/x does not exist: expected a rule":       gone,
		"/etc/x may not be read by this user: expected a rule": &fs.PathError{Op: "open", Path: "/etc/x", Err: syscall.EACCES},
		"reading /etc/x: is a directory; expected a rule":      &fs.PathError{Op: "read", Path: "/etc/x", Err: syscall.EISDIR},
		"something else": os.ErrInvalid,
	} {
		got := Unread(err, "a rule").Error()
		if want != "something else" && got != want || strings.Contains(got, "lstat") || strings.Contains(got, "open ") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
