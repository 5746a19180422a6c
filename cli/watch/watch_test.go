package watch

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/internal/means"
)

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "is-a-folder.prom"), 0o700); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"--interval 999ms", 2, "--interval 999ms: expected at least 1s"}, {"--interval -1s", 2, "expected at least 1s"},
		{"--textfile x.txt", 2, "end in .prom"}, {"--textfile " + dir + "/none/x.prom", 2, "no such file"},
		{"--listen 0.0.0.0:1", 2, "expected an address of the loopback"}, {"--listen " + taken.Addr().String(), 3, "address already in use"},
		{"--textfile " + dir + "/is-a-folder.prom", 3, "fettle: writing the metrics: "}, {"--textfile=", 2, "--textfile"}, {"x", 2, "usage: "},
	} {
		ctx, end := context.WithTimeout(t.Context(), means.Patience) // else it would watch
		code, out, errs := apptest.Run(ctx, app.App{}, Cmd, append([]string{"watch"}, strings.Fields(c.args)...)...)
		end()
		if code != c.code || !strings.Contains(errs, c.errs) || c.code == 2 && out != "" {
			t.Errorf("%s: status %d, said %q and %q", c.args, code, out, errs)
		}
	}
}

// TestMetrics of this host, with arrays or without, are in the file and at the address until it is interrupted.
func TestMetrics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fettle.prom")
	before := means.OpenFiles(t)
	written, served, interrupt := apptest.Meter(t, Cmd, file, "watch", "--interval", "1s")
	if !strings.Contains(written, "\nfettle_watch_up 1\n") {
		t.Errorf("the file: %s", written)
	}
	if !strings.Contains(served, "\nfettle_watch_up 1\n") {
		t.Errorf("at the address: %s", served)
	}
	e := interrupt()
	if line := regexp.MustCompile(`^20[0-9-]+T[0-9:]+Z watching [0-9]+ members of MD arrays`); e.Code != 0 || !line.MatchString(e.Out) || e.Errs != "" {
		t.Errorf("%+v", e)
	}
	for fd, to := range means.OpenFiles(t) {
		if before[fd] == "" && strings.HasPrefix(to, "/") {
			t.Errorf("%s is still open", to)
		}
	}
}

// TestAddressAlone: no file is needed.
func TestAddressAlone(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if f := Cmd(&app.App{}).Flag("interval"); f.DefValue != "1m0s" {
		t.Errorf("it looks every %s", f.DefValue)
	}
	if code, out, errs := apptest.Run(ctx, app.App{}, Cmd, "watch", "--listen", "127.0.0.1:0"); code != 0 || errs != "" {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
}
