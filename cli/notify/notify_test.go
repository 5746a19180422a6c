package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
)

func TestEachChannelIsTried(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := "  - textfile: " + dir + "/fettle.prom\n"
	bad := "  - textfile: \"" + dir + "/none\\x1b/fettle.prom\"\n"
	for name, c := range map[string]struct {
		conf string
		code int
		out  []string // what the lines begin with
		errs string
	}{
		"all work": {"notify:\n" + good, 0, []string{"ok      textfile " + dir + "/fettle.prom"}, ""},
		"one fails": {"notify:\n" + bad + good, 3, []string{`failed  textfile ` + dir + `/none\x1b/fettle.prom: `, "ok      textfile"},
			""},
		"all fail": {"notify:\n" + bad + bad, 3, []string{"failed  ", "failed  "}, ""},
		"none is there": {"check: {network: true}\n", 2, nil,
			"fettle: no channel is configured: add one under notify: in /etc/fettle/fettle.yaml\n"},
		"a mistake":        {"notify:\n  - mail: -x\n", 2, nil, ":2:11: mail"},
		"of another trap":  {"check: {skip: [none]}\nnotify:\n" + good, 2, nil, ":1:16: no trap is called"},
		"no configuration": {"", 2, nil, "no channel"},
	} {
		code, out, errs := apptest.Run(t.Context(), app.App{}, Cmd, "notify", "--config", write("fettle.yaml", c.conf))
		lines := strings.SplitAfter(out, "\n")
		ok := code == c.code && strings.Contains(errs, c.errs) && (errs == "") == (c.errs == "") && len(lines) == len(c.out)+1
		for i, want := range c.out {
			ok = ok && strings.HasPrefix(lines[i], want)
		}
		if !ok {
			t.Errorf("%s: status %d, said %q and %q", name, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "fettle.prom")); err == nil {
		t.Error("metrics of no run were written")
	}
	if code, _, errs := apptest.Run(t.Context(), app.App{}, Cmd, "notify", "--config", dir+"/none.yaml"); code != 2 ||
		!strings.Contains(errs, "none.yaml does not exist") {
		t.Errorf("a file that is not there: %d, %s", code, errs)
	}
	if code, _, errs := apptest.Run(t.Context(), app.App{}, Cmd, "notify", "root"); code != 2 || !strings.Contains(errs, "usage: ") {
		t.Errorf("an argument: %d, %s", code, errs)
	}
}
