package redact

import (
	"encoding/hex"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestLearnt: the names that a file is known to hold, and no others.
func TestLearnt(t *testing.T) {
	for _, c := range []struct{ file, text, names, people, system string }{
		{"/etc/hostname", " mail7.emu.nordwind.example\n", "host:mail7 dom:emu dom:nordwind", "", ""},
		{"/etc/hosts", "192.0.2.1 quokka.wombat.org heron # emu\n\n127.0.0.1 localhost localhost4.emu\n::1 ip6-loopback\n192.0.2.9\n",
			"dom:wombat host:heron host:quokka", "", ""},
		{"/etc/resolv.conf", "search quokka.org heron.example\n\ndomain emu.org\nnameserver wombat.org\noptions timeout:1\nsearch\n",
			"dom:quokka dom:heron dom:emu", "", ""},
		{"/etc/passwd", "quokka:x:1000\nkzo:x:1001:1001::/:/bin/sh\nnobody:x:65534:\nzeus:x:999:\nemu:x\nmail:x:1002:\n",
			"user:quokka user:kzo", "quokka kzo mail", "nobody zeus emu"},
		{"/sys/block/sda/device/serial", "QUOKKA1\n", "ser:quokka1", "", ""},
		{"/sys/block/sda/device/model", "QUOKKA1\n", "", "", ""},
		{"/etc/serial", "QUOKKA1\n", "", "", ""},
		{"/run/udev/data/b8:0", "E:ID_SERIAL=MAKER_HERON77\nE:ID_SERIAL_SHORT=EMU88\nE:ID_MODEL=QUOKKA1\n", "ser:heron77 ser:emu88", "", ""},
		{"/run/udev/b8:0", "E:ID_SERIAL=MAKER_HERON77\n", "", "", ""},
		{"/etc/mailname", "10.77.1.1\n", "", "", ""}, {"/etc/mailname", "ab\n", "", "", ""}, {"/etc/mailname", "localhost\n", "", "", ""},
	} {
		r := redactor(t)
		r.LearnFile(c.file, []byte(c.text))
		var names []string
		for n, kind := range r.names {
			names = append(names, kind+":"+n)
		}
		for what, of := range map[string]struct {
			got  []string
			want string
		}{"names": {names, c.names}, "people": {slices.Collect(maps.Keys(r.people)), c.people},
			"accounts of the system": {slices.Collect(maps.Keys(r.system)), c.system}} {
			want := strings.Fields(of.want)
			slices.Sort(want)
			slices.Sort(of.got)
			if !slices.Equal(of.got, want) {
				t.Errorf("%s of %s: %q, want %q", what, c.file, of.got, want)
			}
		}
	}
}

// TestReplacedIsKnown: the owner learns of each pseudonym what it stands for, and of nothing that stayed.
func TestReplacedIsKnown(t *testing.T) {
	for _, in := range []string{
		"10.77.1.2", "2001:db8:77::5", "52:54:77:aa:bb:cc", "52-54-77-aa-bb-cc", "525477aabbcc", "enx525477aabbcc",
		"3e6be9de-8139-4f00-9106-a43f08d823a6", "A1B2-C3D4", "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:77:aa:bb",
		"0123456789abcdef0123", "0x0a4d0102", "0x02014d0a", "3232235777", "77123456", "+49 89 77123456", "quokka", "quokka4",
	} {
		r := redactor(t)
		out := r.free(in)
		if was := r.Replaced()[out]; !strings.EqualFold(was, in) || out == in {
			t.Errorf("%s became %s, said to be of %q", in, out, was)
		}
	}
	for _, in := range []string{"127.0.0.1", "255.255.255.0", "ff02::1", "00:00:00:00:00:00", "01-80-c2-00-00-00", "enx000000000000",
		"ffffffffffff", "00:00:00:00:00:00:00:00", "12", "5000", "134217729"} {
		r := redactor(t)
		if out := r.free(in); out == in && len(r.Replaced()) > 0 {
			t.Errorf("%s stayed, and %q were replaced", in, r.Replaced())
		}
	}
	r := redactor(t)
	network, _, _ := strings.Cut(r.Text("10.77.0.0/16"), "/")
	if was := r.Replaced()[network]; was != "10.77.0.0" {
		t.Errorf("the network %s was %q", network, was)
	}
	if r.Text("bridge 8000.525477aabbcc"); r.Replaced()[hex.EncodeToString(r.hardware([]byte{0x52, 0x54, 0x77, 0xaa, 0xbb, 0xcc}))] == "" {
		t.Errorf("a bridge's address is not among %q", r.Replaced())
	}
	a := netip.MustParseAddr("10.77.3.4")
	if got := r.Addr(a); r.Addr(a) != got || r.Replaced()[got.String()] != "10.77.3.4" {
		t.Errorf("%s is %s, then %s", a, got, r.Addr(a))
	}
}

// TestSomebody: an account that a distribution makes is nobody, unless it is a person's here or at another host.
func TestSomebody(t *testing.T) {
	r := redactor(t)
	r.LearnFile("/etc/passwd", []byte("mail:x:1000:\nlocal:x:100:\n"))
	for in, kept := range map[string]string{
		"root": "root", "nobody": "nobody", "local": "local", "daemon": "daemon", "mail": "", "test": "", "root@localhost": "root@localhost",
		"daemon@localhost": "@localhost", "local@localhost": "local@localhost", "mail@localhost": "@localhost", "1234": "1234", "12345": "",
		"cn=test": "cn=", "/bin/test": "/bin/test",
	} {
		out := r.userWord(in)
		if (out == in) != (kept == in) || !strings.Contains(out, kept) {
			t.Errorf("%s became %s", in, out)
		}
	}
	b, _ := r.File("/etc/group", []byte("mail:x:8:mail,daemon\n"))
	if want := "mail:x:8:" + r.User("mail") + ",daemon\n"; string(b) != want {
		t.Errorf("a group and its member became %q, want %q", b, want)
	}
}

// TestDeepCommands: in a shell's argument is a command, three deep and no deeper: there all words go.
func TestDeepCommands(t *testing.T) {
	for deep, kept := range map[int]bool{0: true, 2: true, 3: false} {
		if out := redactor(t).command("sh -c 'ip test'", deep); (out == "sh -c 'ip test'") != kept {
			t.Errorf("at %d: %s", deep, out)
		}
	}
}

// TestInlineKey: a key in Signed-By becomes another one, indented as it was; without anybody who can read it, it is dropped.
func TestInlineKey(t *testing.T) {
	const begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
	in := "Types: deb\nSigned-By:\n " + begin + "\n .\n quokka\n " + end + "\nSuites: stable\n"
	r := redactor(t)
	if out, ok := r.File("/etc/apt/sources.list.d/x.sources", []byte(in)); !ok ||
		string(out) != "Types: deb\nSigned-By:\n redacted\nSuites: stable\n" {
		t.Errorf("without a reader: %v %q", ok, out)
	}
	given := ""
	r.Disguise = func(b []byte, number func([]byte) []byte) ([]byte, bool) {
		given = string(b)
		return []byte(begin + "\n\nother\n" + end + "\n"), len(number([]byte("x"))) > 0
	}
	out, ok := r.File("/etc/apt/sources.list.d/x.sources", []byte(in))
	if want := strings.Replace(in, "quokka", "other", 1); !ok || string(out) != want || given != begin+"\n\nquokka\n"+end+"\n" {
		t.Errorf("%v %q of %q, want %q", ok, out, given, want)
	}
}
