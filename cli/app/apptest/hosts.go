package apptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/machine"
	"fettle/report"
)

// Says is a trap whose check says the same wherever it looks; more is further front matter.
func Says(id, more string, outcomes ...trap.Outcome) *trap.Trap {
	return &trap.Trap{
		Lore: trap.Lore("---\nid: " + id + "\ntitle: The trap " + id + "\ntags: [apt]\n" + more + "---\n# " + id + "\n"),
		Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
			for _, o := range outcomes {
				switch o.Status {
				case trap.Found:
					r.Found(o)
				case trap.Unknown:
					r.Unknown(o.Subject, errors.New(o.Reason))
				case trap.NotApplicable:
					r.NotApplicable(o.Subject, o.Reason)
				default:
					r.Clear(o.Subject, o.Summary)
				}
			}
			return nil
		},
	}
}

// Report is what fettle on a host says of such traps, as lines of JSON. The host is one of the distribution's, looked at
// by the user.
func Report(t *testing.T, name, distribution string, euid int, traps ...*trap.Trap) string {
	t.Helper()
	var b bytes.Buffer
	w, err := report.New("jsonl", &b, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := report.Meta{Host: name, Kind: host.KindLive, Identity: host.Identity{EUID: euid}, Machine: machine.Facts{Distribution: distribution}}
	err = w.Begin(m, traps)
	trap.Run(t.Context(), nil, traps, trap.Options{}, func(r trap.Result) { err = errors.Join(err, w.Result(r)) })
	if err = errors.Join(err, w.End(time.Second)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// SSH has ssh be a script that prints, whatever it is asked, what each host says; other hosts cannot be reached. It tells the
// name of a file that holds what was asked, a line each.
func SSH(t *testing.T, says map[string]string) (asked string) {
	t.Helper()
	dir := t.TempDir()
	asked = filepath.Join(dir, "asked")
	script := "#!/bin/sh\necho \"$*\" >> " + asked + "\nfor word; do host=$command; command=$word; done\ncase $host in\n"
	for name, text := range says {
		file := filepath.Join(dir, "of-"+name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		script += fmt.Sprintf("%s) cat %s;;\n", name, file)
	}
	script += "*) echo 'no route to host' >&2; exit 255\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return asked
}
