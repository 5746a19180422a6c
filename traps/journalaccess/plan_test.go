package journalaccess

import (
	"errors"
	"os"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// TestPlan shows the steps for the golden hosts, one line a step.
func TestPlan(t *testing.T) {
	const mid = "/var/log/journal/0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ host, want, more string }{
		{"trapped-mkdir", `perm /var/log/journal
acl /var/log/journal
perm ` + mid + `
acl ` + mid + `
perm ` + mid + `/system.journal
acl ` + mid + `/system.journal
perm ` + mid + `/system@00.journal
acl ` + mid + `/system@00.journal
perm ` + mid + `/system@01.journal
acl ` + mid + `/system@01.journal`, ""},
		{"trapped-default-acl", "acl /var/log/journal\nacl " + mid, ""},
		{"trapped-before-journald", "perm /var/log/journal\nacl /var/log/journal", ""},
		{"trapped-masked-root", "+file /etc/tmpfiles.d/zz-journal-access.conf", ""},
		{"trapped-at-boot", "file /etc/tmpfiles.d/zz-journal-access.conf", ""},
		{"trapped-var-log", "refused: /var/log is closed to members of", ""},
		{"trapped-mkdir", "refused: /var/log/journal stores no ACLs (zfs on /var/log, mounted noacl)", `
-- table/filesystems --
[{"mount":"/","type":"ext4","options":"rw"},{"mount":"/var/log","type":"zfs","options":"rw,noacl"}]
`},
		{"trapped-at-boot", "refused: other lines of tmpfiles.d close the journal at every boot", `
-- root/etc/tmpfiles.d/zzz-later.conf --
z /var/log/journal/%m 0700 root root
A /var/log/journal - - - - u:5:r-x
`},
	} {
		t.Run(c.host+c.want[:8], func(t *testing.T) {
			b, err := os.ReadFile("testdata/" + c.host + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			h := hosttest.New(t, string(b)+c.more)
			got := planLines(t, h)
			want, tail := strings.CutPrefix(c.want, "+")
			switch {
			case tail && !strings.HasSuffix(got, "\n"+want), strings.HasPrefix(want, "refused") && !strings.HasPrefix(got, want):
				t.Errorf("got\n%s\nwant at the end\n%s", got, want)
			case !tail && !strings.HasPrefix(want, "refused") && got != want:
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func planLines(t *testing.T, h *host.Host) string {
	var f trap.Finding
	for _, o := range traptest.Run(t, &Trap, h) {
		if o.Status == trap.Found {
			f = o
		}
	}
	if f.Status == "" {
		t.Fatal("nothing found")
	}
	p, err := plan(t.Context(), h, f)
	var no *remedy.Refusal
	if errors.As(err, &no) {
		return "refused: " + no.Why
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range p.Steps {
		switch s := s.(type) {
		case step.Perm:
			lines = append(lines, "perm "+s.Path)
			if s.Mode >= 0 && s.Mode&0o002 != 0 {
				t.Errorf("%s: everybody may write to it then", s.Describe())
			}
		case step.ACL:
			lines = append(lines, "acl "+s.Path)
			if strings.Contains(s.Access, "other::rw") || strings.Contains(s.Access, "other::-w") {
				t.Errorf("%s: everybody may write to it then", s.Describe())
			}
		case step.File:
			lines = append(lines, "file "+s.Path)
		}
		if s.Reversal().Class != step.Restorable {
			t.Errorf("%s is %s", s.Describe(), s.Reversal().Class)
		}
	}
	return strings.Join(lines, "\n")
}

func TestSettings(t *testing.T) {
	h := hosttest.New(t, `
-- root/usr/lib/systemd/journald.conf --
[Journal]
Storage=none
-- root/etc/systemd/journald.conf --
; comment
[Other]
Storage=none
[Journal]
Storage = \
  volatile
# Storage=none
SplitMode=none
nonsense
-- root/usr/lib/systemd/journald.conf.d/10-a.conf --
[Journal]
Storage=persistent
-- root/etc/systemd/journald.conf.d/20-b.conf --
[Journal]
Storage=Auto
`)
	s, err := readSettings(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if s.Storage != "persistent" || s.SplitMode != "none" || len(s.Errors) != 2 ||
		s.Errors[0].Error() != `/etc/systemd/journald.conf:9: neither [section] nor key=value, and journald ignores it` {
		t.Errorf("%+v %v", s, s.Errors)
	}
}

// TestLore reads the article strictly.
func TestLore(t *testing.T) {
	a, err := Trap.Lore.Article()
	if err != nil || a.ID != "journal-access" || len(a.Symptoms) < 5 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzSettings(f *testing.F) {
	f.Add("[Journal]\nStorage=auto\\\n x\n=\n[\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := &settings{Storage: "auto", SplitMode: "uid"}
		s.parse("f", []byte(text))
		if s.Storage == "" || s.SplitMode == "" {
			t.Fatalf("%+v", s)
		}
	})
}
