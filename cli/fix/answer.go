package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fettle/cli/app"
	"fettle/fleet/ssh"
	"fettle/internal/ui"
)

const (
	// documentLimit bounds what a host may say, in bytes.
	documentLimit = 16 << 20
	// documentTries bounds how many lines of it are taken for the outcome.
	documentTries = 16
)

// fate is what became of one host.
type fate struct {
	host string
	doc  *document // what it said; nil: nothing
	err  error
}

// parseDocument finds the outcome in what a host says: login shells may print
// lines before it. It begins a line.
func parseDocument(host string, b []byte, exit int, errs string) (*document, error) {
	for range documentTries {
		if !bytes.HasPrefix(b, []byte("{")) {
			_, rest, ok := bytes.Cut(b, []byte("\n{"))
			if !ok {
				break
			}
			b = append([]byte("{"), rest...)
		}
		var d document
		if json.NewDecoder(bytes.NewReader(b)).Decode(&d) == nil && d.Format == "fettle-fix" {
			if d.Schema != 1 {
				return nil, &ssh.Error{
					Host:    host,
					Reached: true,
					Why:     fmt.Sprintf("fettle there reports in version %d; this fettle reads version 1", d.Schema),
				}
			}
			return &d, nil
		}
		b = b[1:]
	}
	return nil, &ssh.Error{
		Host:    host,
		Reached: true,
		Why:     fmt.Sprintf("fettle there did not report what it did (exit status %d): %s", exit, strings.TrimSpace(errs)),
	}
}

// bounded keeps what one host says, up to documentLimit.
type bounded struct{ b []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.b)+len(p) > documentLimit {
		return 0, errors.New("its report is longer than any of fix")
	}
	b.b = append(b.b, p...)
	return len(p), nil
}

// visibleLines are lines from another host, safe on any terminal; those of a diff
// have tabs in them.
func visibleLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for i, part := range strings.Split(strings.TrimSuffix(line, "\n"), "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(ui.Visible(part))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// reasonOf is why a host gave no answer, without its name.
func reasonOf(it *fate) string {
	var e *ssh.Error
	if errors.As(it.err, &e) {
		return e.Why
	}
	return it.err.Error()
}

// worst is the most severe status of hosts: of changes that went wrong before those
// that gave no answer, before those that were refused.
func worst(fates []*fate) error {
	var code, rank int
	for _, it := range fates {
		c, r := 0, 0
		switch {
		case it.err != nil && it.doc != nil: // not confirmed
			c, r = exitRolledBack, 4
		case it.err != nil:
			c, r = app.ExitUnknown, 2
		case it.doc.Status == exitNotDone:
			c, r = exitNotDone, 1
		case it.doc.Status == exitHalfWay:
			c, r = exitHalfWay, 5
		case it.doc.Status != app.ExitOK:
			c, r = it.doc.Status, 3
		}
		if r > rank {
			code, rank = c, r
		}
	}
	if code == 0 {
		return nil
	}
	return app.Exit(code, nil)
}

func statusOf(err error) int {
	var s *app.Status
	if errors.As(err, &s) {
		return s.Code
	}
	return app.ExitFailed
}
