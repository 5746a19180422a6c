package redact

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestLines: what becomes of single lines, letter by letter, by who reads them: a log, a title of a process, a command and
// so on, or a file of that name, in which \n ends a line. That what is private goes and what checks read stays is read
// again when the file is written (FETTLE_UPDATE=1 go test ./host/redact).
func TestLines(t *testing.T) {
	r, _ := learnt(t)
	const name = "testdata/lines.txt"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]func(string) string{"log": r.Log, "text": r.Text, "title": r.Title, "command": r.Command, "volume": r.Volume,
		"source": r.Source, "output": r.Output, "path": r.Path, "host": r.Host, "user": r.User, "options": r.Options,
		"secrets": func(s string) string {
			return strings.ReplaceAll(Secrets(strings.ReplaceAll(s, `\n`, "\n")), "\n", `\n`)
		},
		"masked": func(s string) string { return Masked("/etc/x:1", s) }, "prose": MaskedProse, "words": r.free,
		"address": func(s string) string { return r.Addr(netip.MustParseAddr(s)).String() }}
	var out strings.Builder
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i] + "\n")
		who, in, ok := strings.Cut(lines[i], ": ")
		if !ok || strings.HasPrefix(lines[i], "#") {
			continue
		}
		got := "left out"
		if read := readers[who]; read != nil {
			got = read(in)
		} else if b, ok := r.File(who, []byte(strings.ReplaceAll(in, `\n`, "\n")+"\n")); ok {
			got = strings.ReplaceAll(strings.TrimSuffix(string(b), "\n"), "\n", `\n`)
		}
		for _, private := range []string{"anna", "acme", "nordwind", "hunter2", "10.77.", "192.0.2.", "2001:db8:77", "54:77:aa", "mail7",
			"quokka", "heron"} {
			if strings.Contains(strings.ToLower(got), private) {
				t.Errorf("%s: %s survives: %s", lines[i], private, got)
			}
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "= ") {
			i++ // what became of it before
		}
		out.WriteString("= " + got + "\n")
	}
	means.Written(t, name, out.String())
}
