package ssh

import (
	"context"
	"fmt"
	"io"
	"strings"

	"fettle/internal/lazy"
)

// Script runs a constant script of /bin/sh on a host, as Command takes it: no
// quote, "!", backslash or newline in it. Its arguments are plain words, $1 the
// first. Any error is an *Error: the script was not run, or the connection was
// lost; exit is its status otherwise. in may be nil; out and errs too.
func (c *Client) Script(ctx context.Context, host, script string, args []string, in io.Reader, out, errs io.Writer) (exit int, err error) {
	if i := strings.IndexAny(script, "'!\\\n"); i >= 0 || len(args) == 0 {
		return 0, &Error{Host: host, Why: fmt.Sprintf("a script for other hosts with %q, or no argument", script[max(i, 0):])}
	}
	command, err := Command(script, args)
	if err != nil {
		return 0, &Error{Host: host, Why: err.Error()}
	}
	exit, _, err = c.stream(ctx, host, command, in, out, errs)
	if err != nil {
		return 0, &Error{Host: host, Why: err.Error()}
	}
	return exit, nil
}

// plain are arguments that every shell passes on as they are.
var plain = lazy.Regexp(`^[A-Za-z0-9._:/,+@%=-]+$`)

// Command makes the command for ssh: a constant script for /bin/sh, whatever the
// login shell is, and plain words. The script holds no quote, "!", backslash or
// newline, which shells read differently.
func Command(script string, args []string) (string, error) {
	for _, a := range args {
		if !plain().MatchString(a) {
			return "", fmt.Errorf("argument %q: only letters, digits and . _ : / , + @ %% = - are passed on to other hosts", a)
		}
	}
	return strings.Join(append([]string{"/bin/sh", "-c", "'" + script + "'", "fettle"}, args...), " "), nil
}
