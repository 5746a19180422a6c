package ini

import (
	"fmt"
	"strings"
	"testing"

	"fettle/internal/means"
)

func show(f File) string {
	var b strings.Builder
	for _, s := range f.Sections {
		fmt.Fprintf(&b, "%d [%s]\n", s.Line, s.Name)
	}
	for _, e := range f.Entries {
		fmt.Fprintf(&b, "%d %s.%s=%s\n", e.Line, e.Section, e.Key, e.Value)
	}
	for _, e := range f.Errs {
		fmt.Fprintf(&b, "%d! %s\n", e.Line, e.Msg)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Dialect
		text string
		want string
	}{
		{"empty", Systemd, "", ""},
		{"systemd: comments, blanks, places", Systemd, "# c\n; d\n\n [A] \n k = v w \nl=\n", "4 [A]\n5 A.k=v w\n6 A.l=\n"},
		{"systemd: joined lines", Systemd, "[A]\nk=1 \\\n  # no\n; nor this\n " +
			"2\nl=3 \\ \nm=4\\\\\nn=5\\\n\no=6\\", "1 [A]\n2 A.k=1 2\n6 A.l=3 \\\n7 A.m=4\\\\\n8 A.n=5\n10 A.o=6\n"},
		{"systemd: what it ignores", Systemd, "x=1\n[A]\nword\n=2\n[B\ny=1\n[C]\nz=1\n", "2 [A]\n7 [C]\n8 C.z=1\n1! key=value before any " +
			"[section]\n3! neither [section] nor key=value\n" +
			"4! no key before the =\n5! a section ends with ]\n6! key=value before any [section]\n"},
		{"keyfile: no joining, one comment", Keyfile, "[a]\nk=1\\\n#c\n;d=2\n", "1 [a]\n2 a.k=1\\\n4 a.;d=2\n"},
		{"sssd: a blank goes on, keys fold", SSSD, "[domain/x]\nLDAP_URI = " +
			"ldap://a,\n  ldap://b\n# c\n  e = 1\n", "1 [domain/x]\n2 domain/x.ldap_uri=ldap://a, ldap://b\n5 " +
			"domain/x.e=1\n"},
		{"sssd: no going on with a header", SSSD, "[x]\n y = 1\n", "1 [x]\n2 x.y=1\n"},
		{"a mark of byte order, and DOS", Keyfile, "\ufeff[a]\r\nk=v\r\n", "1 [a]\n2 a.k=v\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := show(Parse(c.d, "f", []byte(c.text))); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[A]\nk=1 \\\n# c\n2\n[B\n=\\"))
	f.Add([]byte("[a]\n k\n  = v\n\tw\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := strings.Count(string(b), "\n") + 1
		for _, d := range []Dialect{Systemd, Keyfile, SSSD} {
			file := Parse(d, "f", b)
			last := 0
			for _, e := range file.Entries {
				if e.Line <= last && last > 0 || e.Line > lines || e.Key == "" || e.Section == "" && len(file.Sections) == 0 {
					t.Fatalf("%+v of %d lines", e, lines)
				}
				last = e.Line
			}
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
