package update

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestRealApt has a real apt, with folders of its own, install a package through a hook that hangs, crashes, fails or
// is gone: apt installs it all the same. The command of dpkg is replaced: nothing is installed here.
func TestRealApt(t *testing.T) {
	means.Root(t)
	for _, p := range []string{"apt-get", "dpkg-deb", "timeout"} {
		means.Tool(t, p)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	conf, deb := aptHere(t, dir)
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	hook, dpkg := filepath.Join(bin, "fettle"), filepath.Join(bin, "dpkg")
	write(t, dpkg, "#!/bin/sh\ncase \"$*\" in *--unpack*|*--configure*|*-i*) echo \"$*\" >> "+dir+"/dpkg.log;; esac\nexit 0\n", 0o755)
	for name, script := range map[string]string{
		"hangs":                   "#!/bin/sh\nexec sleep 1000\n",
		"hangs and is not killed": "#!/bin/sh\ntrap '' TERM INT HUP PIPE\nwhile :; do sleep 1; done\n",
		"crashes":                 "#!/bin/sh\nkill -SEGV $$\n",
		"fails":                   "#!/bin/sh\ncat > " + dir + "/stdin\nexit 3\n",
		"is gone":                 "",
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(hook)
			os.Remove(dir + "/dpkg.log")
			if script != "" {
				write(t, hook, script, 0o755)
			}
			if err := Install(filepath.Join(dir, "etc/apt.conf.d/90fettle"), hook); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/usr/bin/apt-get", "install", "-y", "-q", "-o", "Dir::Bin::dpkg="+dpkg, deb)
			cmd.Env = append(os.Environ(), "APT_CONFIG="+conf, "LC_ALL=C")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("apt stopped: %v\n%s", err, out)
			}
			log, err := os.ReadFile(dir + "/dpkg.log")
			if err != nil || !strings.Contains(string(log), "fettle-nothing") {
				t.Errorf("apt did not go on to dpkg: %s, %v", log, err)
			}
		})
	}
	f, err := os.Open(dir + "/stdin")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := ReadApt(f)
	if err != nil || len(got) != 1 || got[0].Name != "fettle-nothing" || got[0].New != "1:2.0-1" || got[0].Old != "" {
		t.Errorf("of what this apt says, %+v is read, %v", got, err)
	}
}

// aptHere makes folders for an apt of its own, and a package.
func aptHere(t *testing.T, dir string) (conf, deb string) {
	t.Helper()
	for _, d := range []string{"etc/apt.conf.d", "etc/preferences.d", "etc/sources.list.d", "etc/trusted.gpg.d", "state/lists/partial",
		"cache/archives/partial", "pkg/DEBIAN", "log", "dpkg/info", "dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "dpkg/status"), "", 0o644)
	write(t, filepath.Join(dir, "pkg/DEBIAN/control"),
		"Package: fettle-nothing\nVersion: 1:2.0-1\nArchitecture: all\nMaintainer: Nobody <n@example.org>\nDescription: nothing\n", 0o644)
	deb = filepath.Join(dir, "fettle-nothing_2.0-1_all.deb")
	build := exec.Command("/usr/bin/dpkg-deb", "--build", "--root-owner-group", filepath.Join(dir, "pkg"), deb)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conf = filepath.Join(dir, "apt.conf")
	write(t, conf, `Dir::Etc "`+dir+`/etc"; Dir::State "`+dir+`/state"; Dir::State::status "`+dir+`/dpkg/status"; Dir::Cache "`+dir+`/cache";
Dir::Log "`+dir+`/log"; APT::Sandbox::User "root"; Dpkg::Use-Pty "false"; APT::Architectures { "amd64"; };
#clear DPkg::Post-Invoke; #clear DPkg::Pre-Invoke; #clear APT::Update::Post-Invoke;
`, 0o644)
	return conf, deb
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
