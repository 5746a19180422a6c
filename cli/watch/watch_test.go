package watch

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
		ctx, end := context.WithTimeout(t.Context(), 5*time.Second) // else it would watch
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
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	before := means.OpenFiles(t)
	ctx, interrupt := context.WithTimeout(t.Context(), 8*time.Second)
	defer interrupt()
	type end struct {
		code      int
		out, errs string
	}
	ended := make(chan end, 1)
	go func() {
		code, out, errs := apptest.Run(ctx, app.App{}, Cmd, "watch", "--interval", "1s", "--textfile", file, "--listen", address)
		ended <- end{code, out, errs}
	}()
	var written []byte
	means.Until(t, "the metrics", func() bool {
		select {
		case e := <-ended:
			t.Fatalf("it ended: %+v", e)
		default:
		}
		written, err = os.ReadFile(file)
		return err == nil
	})
	if !strings.Contains(string(written), "\nfettle_watch_up 1\n") {
		t.Errorf("the file: %s", written)
	}
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	served, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || !strings.Contains(string(served), "\nfettle_watch_up 1\n") {
		t.Errorf("at the address: %v, %s", err, served)
	}
	interrupt()
	e := <-ended
	if line := regexp.MustCompile(`^20[0-9-]+T[0-9:]+Z watching [0-9]+ members of MD arrays`); e.code != 0 || !line.MatchString(e.out) || e.errs != "" {
		t.Errorf("%+v", e)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("it still listens")
	}
	http.DefaultClient.CloseIdleConnections()
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
