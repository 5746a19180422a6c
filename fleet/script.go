package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Script runs a constant script of /bin/sh on a host, as remote.go's are: no
// quote, "!", backslash or newline in it. Its arguments are plain words, $1 the
// first. Any error is an *Error: the script was not run, or the connection was
// lost; exit is its status otherwise. in may be nil; out and errs too.
func (f *Fleet) Script(ctx context.Context, host, script string, args []string, in io.Reader, out, errs io.Writer) (exit int, err error) {
	if i := strings.IndexAny(script, "'!\\\n"); i >= 0 || len(args) == 0 {
		return 0, &Error{Host: host, Why: fmt.Sprintf("a script for other hosts with %q, or no argument", script[max(i, 0):])}
	}
	command, err := remote(script, args[0], args[1:])
	if err != nil {
		return 0, &Error{Host: host, Why: err.Error()}
	}
	exit, _, err = f.stream(ctx, host, command, in, out, errs)
	if err != nil {
		return 0, &Error{Host: host, Why: err.Error()}
	}
	return exit, nil
}
