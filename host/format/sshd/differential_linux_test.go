package sshd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/internal/means"
)

const passwd = `root:x:0:0:root:/root:/bin/sh
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
alice:x:1000:1000::/home/alice:/bin/sh
bob:x:1001:1001::/home/bob:/bin/sh
`

const group = `root:x:0:
adm:x:4:alice,bob
wheel:x:10:bob
staff:x:50:alice
users1:x:100:bob
alice:x:1000:
bob:x:1001:
nogroup:x:65534:
`

// inNamespace gives sshd an /etc/ssh, accounts and a /run of its own.
const inNamespace = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -m 755 /run/sshd
mount --bind "$1/etc/ssh" /etc/ssh
mount --bind "$1/etc/passwd" /etc/passwd
mount --bind "$1/etc/group" /etc/group
shift
exec "$@"`

// unknowable are keywords whose default depends on how sshd was built.
var unknowable = []string{"ciphers", "macs", "kexalgorithms", "casignaturealgorithms", "hostbasedacceptedalgorithms", "hostkeyalgorithms",
	"pubkeyacceptedalgorithms", "gssapikexalgorithms", "pidfile", "modulifile", "xauthlocation", "ipqos", "hostkey"}

// TestLikeSSHD reads every configuration of the corpus as the sshd of this
// machine does, for every connection that the case names.
func TestLikeSSHD(t *testing.T) {
	means.Root(t)
	bin, unshare := means.Tool(t, "sshd"), means.Tool(t, "unshare")
	version := serverVersion(t, bin)
	cases, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(cases) < 40 {
		t.Fatalf("%d configurations in the corpus, %v", len(cases), err)
	}
	key := filepath.Join(t.TempDir(), "key")
	run(t, means.Tool(t, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", key)
	keyText, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			put(t, filepath.Join(dir, "etc/ssh/testkey"), keyText, 0o600)
			put(t, filepath.Join(dir, "etc/passwd"), []byte(passwd), 0o644)
			put(t, filepath.Join(dir, "etc/group"), []byte(group), 0o644)
			put(t, filepath.Join(dir, "var/lib/dpkg/status"),
				fmt.Appendf(nil, "Package: openssh-server\nStatus: install ok installed\nVersion: 1:%sp1-1\n", version), 0o644)
			var conns []string
			for _, f := range a.Files {
				if f.Name == "conns" {
					conns = strings.Fields(string(f.Data))
					continue
				}
				data := f.Data
				if strings.Contains(name, "no-final-newline") {
					data = bytes.TrimSuffix(data, []byte("\n"))
				}
				put(t, filepath.Join(dir, "etc/ssh", f.Name), data, 0o644)
			}
			src, err := host.NewRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			h := host.New(src)
			cfg, err := Read(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			db, err := accounts.Read(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range conns {
				args := []string{"-m", "/bin/sh", "-c", inNamespace, "sh", dir, bin, "-T", "-h", "/etc/ssh/testkey"}
				if spec != "-" {
					args = append(args, "-C", spec)
				}
				compare(t, cfg, connOf(t, db, spec), spec, unshare, args)
			}
		})
	}
}

var atLine = regexp.MustCompile(`(\S+?):? (?:at )?line ([0-9]+)`)

func compare(t *testing.T, cfg *Config, conn Conn, spec, unshare string, args []string) {
	t.Helper()
	cmd := exec.Command(unshare, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if len(cfg.Errors) == 0 {
			t.Fatalf("%s: sshd refuses this, fettle does not: %s", spec, errs.Bytes())
		}
		e := cfg.Errors[0]
		for _, m := range atLine.FindAllStringSubmatch(errs.String(), -1) {
			if n, _ := strconv.Atoi(m[2]); n == e.Line && (m[1] == e.Path || strings.Contains(errs.String(), "Invalid Match")) {
				return
			}
		}
		if strings.Contains(e.Msg, "is set without") && strings.Contains(errs.String(), "set without") {
			return // sshd says it of the whole, and names no line
		}
		t.Errorf("%s: fettle's first error is %v, sshd says\n%s", spec, e, errs.Bytes())
		return
	}
	if len(cfg.Errors) > 0 {
		t.Fatalf("%s: sshd takes this, fettle does not: %v", spec, cfg.Errors)
	}
	eff := cfg.For(conn)
	want := strings.Split(strings.TrimSpace(strings.Replace(out.String(), "hostkey /etc/ssh/testkey\n", "", 1)), "\n")
	got := eff.Dump()
	for _, w := range want {
		k, _, _ := strings.Cut(w, " ")
		s := eff.Get(k)
		if !s.Known && slices.Contains(unknowable, k) {
			continue
		}
		if !slices.Contains(got, w) {
			t.Errorf("%s: sshd says %q, fettle %q (known %v, %s)", spec, w, s.Values, s.Known, s.Place)
		}
	}
	for _, g := range got {
		if k, _, _ := strings.Cut(g, " "); !slices.Contains(want, g) && strings.Contains("\n"+out.String(), "\n"+k+" ") {
			t.Errorf("%s: fettle says %q, sshd does not", spec, g)
		}
	}
	// The order of keywords with several values.
	for _, k := range []string{"port", "listenaddress", "acceptenv", "allowusers", "setenv", "hostkey", "subsystem"} {
		only := func(in []string) string {
			return strings.Join(slices.DeleteFunc(slices.Clone(in), func(l string) bool { return !strings.HasPrefix(l, k+" ") }), "\n")
		}
		if g, w := only(got), only(want); g != w && eff.Get(k).Known {
			t.Errorf("%s: fettle says\n%s\nsshd\n%s", spec, g, w)
		}
	}
}

// connOf turns the specification of sshd -C into a Conn.
func connOf(t *testing.T, db *accounts.DB, spec string) Conn {
	t.Helper()
	var c Conn
	if spec == "-" {
		return c
	}
	for kv := range strings.SplitSeq(spec, ",") {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "user":
			c.User = v
			if u, ok := db.User(v); ok {
				for _, g := range db.GroupsOf(u) {
					c.Groups = append(c.Groups, db.GroupName(g))
				}
			}
		case "host":
			c.Host = v
		case "addr":
			c.Addr = v
		case "laddr":
			c.LocalAddr = v
		case "lport":
			c.LocalPort, _ = strconv.Atoi(v)
		case "rdomain":
			c.RDomain = v
		default:
			t.Fatalf("unknown part %q of a connection", kv)
		}
	}
	return c
}

func put(t *testing.T, name string, b []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, mode); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// serverVersion asks sshd for its version: OpenSSH before 9.2 knows no -V and
// says it on the way out.
func serverVersion(t *testing.T, bin string) string {
	t.Helper()
	out, _ := exec.Command(bin, "-V").CombinedOutput()
	m := regexp.MustCompile(`OpenSSH_([0-9]+\.[0-9]+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("%s -V says %s", bin, out)
	}
	return string(m[1])
}
