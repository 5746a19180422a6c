package login_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"fettle/internal/means"
	"fettle/tools/measure/login"
)

// TestFettle runs the program as its users do: the causes on a server that is
// reached over ssh, as root by sudo, and a server that is fast.
func TestFettle(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv(inside) == "" {
		t.Parallel()
	}
	if os.Getenv(inside) == "" {
		means.Root(t)
		means.Tool(t, "sudo")
		dir := means.Programs(t, "fettle", "fettle-lab")            // which draws
		os.Setenv("FETTLE_LOGIN_BIN", filepath.Join(dir, "fettle")) // the child needs it
	}
	inWorld(t, func(t *testing.T) {
		w := newWorld(t, []fault{useDNS, lateDNS, func(w *world) {
			w.client = "Host anna\n HostName " + serverAddr + "\n User anna\nHost fast\n HostName " + serverAddr + "\n Port 23\n" + w.client
			home := "/run/k/anna"
			w.must(os.Mkdir(home, 0o700))
			w.must(os.Chown(home, 65100, 65100))
			w.edit("/etc/passwd", "sshd:x", "anna:x:65100:65100::"+home+":/bin/sh\nsshd:x")
			w.write("/etc/sudoers", "anna ALL=(ALL) NOPASSWD: ALL\n", 0o440)
			w.write("/etc/pam.d/sudo", "auth required pam_permit.so\naccount required pam_permit.so\nsession required pam_permit.so\n", 0o644)
		}})
		fettle := func(args ...string) (string, string, error) {
			cmd := exec.Command(os.Getenv("FETTLE_LOGIN_BIN"), append([]string{"measure", "login"}, args...)...)
			cmd.Env = append(os.Environ(), "COLUMNS=80", "LC_ALL=C")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			return out.String(), errs.String(), err
		}
		svg := "/run/k/login.svg"
		out, errs, err := fettle("--ssh-config", w.config, "-n", "2", "--explain", "--control", "--svg", svg, "anna")
		t.Logf("%s%s", out, errs)
		if err != nil || errs != "" {
			t.Fatal(err, errs)
		}
		for _, want := range []string{"anna as anna, OpenSSH_", "auth none ", "########", "Over a connection that is already open", "Explained: ",
			"reverse-dns, on the server", "name server 10.9.0.53: NXDOMAIN after 0."} {
			if !strings.Contains(out, want) {
				t.Errorf("the text has no %q", want)
			}
		}
		for line := range strings.Lines(out) {
			if len(line) > 81 || strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("not fit for a serial console: %q", line)
			}
		}
		if b, err := os.ReadFile(svg); err != nil || !bytes.Contains(b, []byte("session open")) {
			t.Errorf("the picture: %v", err)
		}
		// Three, since on a busy machine another phase of one login may be slow, too.
		out, errs, err = fettle("--ssh-config", w.config, "-n", "3", "--format", "json", "anna")
		var rep struct {
			Format, User string
			Total        struct {
				Median float64 `json:"median_s"`
			}
			Slow []login.Stat
			Each []map[string]float64
		}
		if err != nil || json.Unmarshal([]byte(out), &rep) != nil {
			t.Fatalf("%v: %s%s", err, out, errs)
		}
		if rep.Format != "fettle-login" || rep.User != "anna" || rep.Total.Median < 0.5 || len(rep.Slow) != 1 ||
			rep.Slow[0].Phase != "auth none" ||
			rep.Each[0]["auth none"] < 0.5 {
			t.Errorf("%+v", rep)
		}
		if left, _ := filepath.Glob("/run/fettle-login-*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}

		// Dropbear asks for no names: another server, and a fast one.
		w.dropbear("23")
		out, errs, err = fettle("--ssh-config", w.config, "-n", "2", "fast")
		t.Logf("%s%s", out, errs)
		if err != nil || !strings.Contains(out, "dropbear_") || !strings.Contains(out, "Nothing is slow: ") {
			t.Error(err)
		}
	})
}

func lateDNS(w *world) {
	fast := w.dns
	w.dns = func(rw dns.ResponseWriter, m *dns.Msg) { time.Sleep(500 * time.Millisecond); fast(rw, m) }
}

// dropbear starts another server.
func (w *world) dropbear(port string) {
	w.t.Helper()
	w.run(means.Tool(w.t, "dropbearkey"), "-t", "ed25519", "-f", "/run/k/dropbear")
	out, err := exec.Command("/usr/bin/dropbearkey", "-y", "-f", "/run/k/dropbear").Output()
	w.must(err)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ssh-ed25519 ") {
			known, err := os.ReadFile("/run/k/known")
			w.must(err)
			w.write("/run/k/known", string(known)+"["+serverAddr+"]:"+port+" "+line, 0o600)
		}
	}
	pub, err := os.ReadFile("/run/k/user.pub")
	w.must(err)
	w.must(os.MkdirAll("/run/k/home/.ssh", 0o700))
	w.write("/run/k/home/.ssh/authorized_keys", string(pub), 0o600)
	cmd := exec.Command(
		means.Tool(w.t, "dropbear"),
		"-F",
		"-E",
		"-p",
		serverAddr+":"+port,
		"-r",
		"/run/k/dropbear",
		"-P",
		"/run/k/dropbear.pid",
	)
	w.must(cmd.Start())
	for range 200 {
		if _, err := os.Stat("/run/k/dropbear.pid"); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Fatal("dropbear does not start")
}
