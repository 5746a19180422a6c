package netboot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/internal/means"
	"fettle/tools/netboot/mirror"
	"fettle/tools/netboot/serve"
	"fettle/tools/netboot/stale"
	"fettle/tools/netboot/tree"
)

// fakeIPMI is an ipmitool that does what the name of the user says.
const fakeIPMI = `echo "ipmitool $* ($IPMI_PASSWORD)" >> /mnt/asked
while [ $# -gt 0 ]; do case $1 in -U) user=$2; shift;; sol|chassis|-v) break;; esac; shift; done
case "$1 $2 $user" in
"sol activate fine") printf '[SOL Session operational.  Use ~? for help]\nlogin: \n';;
"sol activate lost") printf 'host\nSOL session closed by BMC\n';;
"sol activate broken") printf 'it broke\n'; exit 7;;
"sol activate refused") printf '> RAKP 2 message indicates an error : unauthorized name\n'; exit 1;;
"sol activate cipher") printf 'no matching cipher suite\n'; exit 1;;
"sol activate mute"*) printf 'Error: Unable to establish IPMI v2 / RMCP+ session\n'; exit 1;;
"-v chassis mutecipher") echo 'first words'; echo '> invalid integrity algorithm'; exit 1;;
"-v chassis mute") echo 'Unable to establish IPMI v2 / RMCP+ session'; exit 1;;
"sol activate quiet") printf '[SOL Session operational.  Use ~? for help]\n'; exec sleep 300;;
"sol activate talks") printf 'a word\n'; exec sleep 300;;
"sol info"*) printf 'Enabled : false\nVolatile Bit Rate (kbps) : 9.6\n';;
"chassis power"*) echo 'Chassis Power is off';;
"sol deactivate"*) ;;
*) echo "what is $1 $2 of $user?"; exit 9;;
esac`

// TestConsoleEnds: how a console is asked for, what is shown of it, and how it ends, with programs that do as they are told.
func TestConsoleEnds(t *testing.T) {
	means.Tool(t, "ipmitool")
	means.Tool(t, "virsh")
	means.Tool(t, "ssh")
	if !apptest.Golden(t, map[string]string{"/mnt/password": "s3cret\r\nmore\n", "/mnt/asked": ""}) {
		return
	}
	apptest.Cover(t, "/usr/bin/ipmitool", fakeIPMI)
	apptest.Cover(t, "/usr/bin/virsh", `echo "virsh $*" >> /mnt/asked; printf 'Connected to domain vm\nbye\n'`)
	apptest.Cover(t, "/usr/bin/ssh", `echo "ssh $*" >> /mnt/asked; echo hello; case $* in *bad*) echo Error; exit 255;; esac`)
	bmc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer bmc.Close()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := bmc.ReadFrom(b)
			if err != nil {
				return
			}
			bmc.WriteTo(b[:n], from)
		}
	}()
	closed, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, nobody, _ := net.SplitHostPort(closed.LocalAddr().String())
	closed.Close()
	_, port, _ := net.SplitHostPort(bmc.LocalAddr().String())
	ports := strings.NewReplacer(port, "PORT", nobody, "CLOSED")
	t.Setenv("TERM", "dumb")
	apptest.Session(t, "console.txt", func(ctx context.Context, args []string) (int, string, string) {
		if args[0] == "asked" {
			b, err := os.ReadFile("/mnt/asked")
			if err := errors.Join(err, os.Truncate("/mnt/asked", 0)); err != nil {
				t.Fatal(err)
			}
			return 0, ports.Replace(string(b)), ""
		}
		for i := range args {
			switch args[i] {
			case "PORT":
				args[i] = port
			case "CLOSED":
				args[i] = nobody
			}
		}
		code, out, errs := apptest.Run(ctx, app.App{}, Cmd, append([]string{"netboot", "console"}, args...)...)
		return code, strings.ReplaceAll(out, "\r", ""), ports.Replace(strings.ReplaceAll(errs, "\r", ""))
	})
	b, err := os.ReadFile("/mnt/log")
	if st, err2 := os.Stat("/mnt/log"); err != nil || err2 != nil || st.Mode().Perm() != 0o600 ||
		string(b) != strings.Repeat("[SOL Session operational.  Use ~? for help]\r\nlogin: \r\n", 2) {
		t.Errorf("the log has %q, %v, %v", b, err, err2)
	}

	o := consoleOptions{port: bmc.LocalAddr().(*net.UDPAddr).Port, speed: 115200, silent: time.Millisecond, user: "quiet"}
	if err := console(t, way{"ipmi", "127.0.0.1"}, o, "x", func(_, warn *lockedBuffer, _ io.Writer) {
		for _, want := range []string{"the host is switched off", "serial over LAN is disabled",
			"the BMC's end of the port runs at 9600 bits per second, and 115200 are expected"} {
			warn.comes(t, "\r\nfettle: nothing comes: "+want)
		}
	}); err != nil {
		t.Error(err)
	}
	o.user, o.silent = "talks", 0
	if err := console(t, way{"ipmi", "127.0.0.1"}, o, "x", func(out, warn *lockedBuffer, _ io.Writer) {
		if out.comes(t, "a word"); warn.String() != "" {
			t.Errorf("said %q", warn)
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestPassword: it comes from the first line of a file, from the environment, or from a terminal that does not show it.
func TestPassword(t *testing.T) {
	file := t.TempDir() + "/password"
	if err := os.WriteFile(file, []byte("of a file\r\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(o consoleOptions, in io.Reader) (string, string, error) {
		var errs bytes.Buffer
		o.user = "ADMIN"
		p, err := (&session{app: &app.App{Stdin: in, Stderr: &errs}, way: way{"ipmi", "bmc1"}, o: o}).ask()
		return p, errs.String(), err
	}
	t.Setenv("IPMI_PASSWORD", "of the environment")
	for want, o := range map[string]consoleOptions{"of a file": {passwordFile: file}, "of the environment": {}} {
		if p, said, err := of(o, strings.NewReader("typed\n")); p != want || said != "" || err != nil {
			t.Errorf("%q, said %q, %v; want %q", p, said, err, want)
		}
	}
	_, _, err := of(consoleOptions{passwordFile: "/nonexistent/x"}, nil)
	if err == nil || !strings.Contains(err.Error(), "--password-file: ") {
		t.Error(err)
	}
	os.Unsetenv("IPMI_PASSWORD")
	if _, _, err := of(consoleOptions{}, strings.NewReader("typed\n")); err == nil || !strings.Contains(err.Error(), "there is no terminal") {
		t.Error(err)
	}
	master, tty := means.OpenTerminal(t)
	if _, err := master.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if p, said, err := of(consoleOptions{}, tty); p != "typed" || said != "Password of ADMIN at bmc1: \n" || err != nil {
		t.Errorf("%q, said %q, %v", p, said, err)
	}
}

// TestWhatCame: what a console showed last, and whether that was the host's.
func TestWhatCame(t *testing.T) {
	s := &session{app: &app.App{Stdout: io.Discard}}
	if got := s.lastWords(); got != "without a word" {
		t.Error(got)
	}
	for _, c := range []struct {
		text string
		came int
	}{{"[SOL Session operational.  Use ~?]", 0}, {"Connected to domain x", 0}, {"Escape character is ^]", 0}, {"\r\nlogin:\r\n", 10},
		{"said [SOL Session operational\r\n", 41}, {strings.Repeat("x", 1990), 2031}, {"\r\nthe last\r\n\n", 2044}} {
		if n, err := s.Write([]byte(c.text)); n != len(c.text) || err != nil || s.came != c.came {
			t.Errorf("%.40q: %d, %v; %d bytes are the host's, want %d", c.text, n, err, s.came, c.came)
		}
	}
	if got := s.said(); len(got) != 2000 || !strings.HasSuffix(got, "xx\r\nthe last\r\n\n") || s.lastWords() != "the last" {
		t.Errorf("%d bytes: %q, last %q", len(got), got[max(0, len(got)-30):], s.lastWords())
	}
	for _, c := range []struct {
		way, said string
		typed     bool
		ours      bool
	}{
		{"ipmi", "bye", false, true}, {"ipmi", "x SOL session closed by BMC", true, false}, {"ssh", "Error: no", true, false},
		{"libvirt", "bye", false, false}, {"libvirt", "Error", true, true},
	} {
		s := &session{way: way{c.way, "x"}, last: []byte(c.said), endTyped: c.typed}
		if s.ownEnd() != c.ours {
			t.Errorf("%+v: the user's end: %v", c, !c.ours)
		}
	}
	log, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	if _, err := (&session{app: &app.App{Stdout: io.Discard}, log: log}).Write([]byte("x")); err == nil ||
		!strings.Contains(err.Error(), "writing the log: ") {
		t.Errorf("what is not in the log is lost without a word: %v", err)
	}
}

// TestLogLines: a server's lines are handed on one by one, without empty ones, none longer than 1000 bytes.
func TestLogLines(t *testing.T) {
	x := strings.Repeat("x", 1000)
	for in, want := range map[string][]string{
		"": nil, "a\nb": {"a", "b"}, "a\r\n\r\n\nb\n": {"a", "b"}, x + "\n": {x}, x + "y\n": {x},
		strings.Repeat("x", 4096) + "y\nz\n": {x, "y", "z"},
	} {
		out := make(chan string, 9)
		read(strings.NewReader(in), out)
		close(out)
		var got []string
		for l := range out {
			got = append(got, l)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.20q: %.60q", in, got)
		}
	}
}

// TestFirewalled: what the firewall of either kind drops is told, each port with how to let it in.
func TestFirewalled(t *testing.T) {
	means.Tool(t, "nft")
	means.Tool(t, "iptables")
	// What Debian's alternatives lead to, the script lies upon.
	if !apptest.Golden(t, map[string]string{"/etc/alternatives/iptables": ""}) {
		return
	}
	const drops = `{"nftables":[{"chain":{"family":"inet","table":"filter","name":"input","handle":1,"type":"filter","hook":"input",` +
		`"prio":0,"policy":"drop"}}]}`
	const nft, iptables = "/usr/sbin/nft", "/usr/sbin/iptables"
	for _, c := range []struct {
		nft, iptables string
		dropped       bool
	}{
		{"echo '" + drops + "'", "exit 1", true}, {"exit 1", "echo '-P INPUT DROP'", true},
		{"echo '{\"nftables\":[]}'", "echo '-P INPUT DROP'", true}, {"echo '{\"nftables\":[]}'", "echo '-P INPUT ACCEPT'", false},
		{"exit 1", "exit 1", false}, {"echo '" + drops + "'; exit 1", "exit 1", false},
	} {
		apptest.Cover(t, nft, c.nft)
		apptest.Cover(t, iptables, c.iptables)
		var warn bytes.Buffer
		firewalled(t.Context(), &app.App{Program: "fettle", Stderr: &warn}, serve.Conf{Interface: "eth7", HTTP: true})
		said := strings.Join(strings.Fields(warn.String()), " ")
		for _, want := range []string{"drops UDP 67 on eth7", "drops UDP 69 on eth7", "drops TCP 80 on eth7", "proto tcp to any port 80",
			"--add-port=69/udp", "iifname eth7 udp dport 67 accept"} {
			if strings.Contains(said, want) != c.dropped {
				t.Errorf("%s, %s: %q is said: %v\n%s", c.nft, c.iptables, want, !c.dropped, said)
			}
		}
	}
}

// TestOpenHTTP: port 80 is opened where a client can boot by HTTP, and nobody else has it.
func TestOpenHTTP(t *testing.T) {
	means.Root(t)
	taken, err := net.Listen("tcp4", "127.0.0.78:80")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		conf        serve.Conf
		show        bool
		http, opens bool
		said        string
	}{
		"to be served":       {serve.Conf{Loaders: serve.Loaders{HTTP64: true}}, false, true, true, ""},
		"of ARM":             {serve.Conf{Loaders: serve.Loaders{HTTPArm64: true}}, false, true, true, ""},
		"shown":              {serve.Conf{Loaders: serve.Loaders{HTTP64: true}}, true, true, false, ""},
		"beside a server":    {serve.Conf{Proxy: true, Loaders: serve.Loaders{HTTP64: true}}, false, false, false, ""},
		"BIOS alone":         {serve.Conf{}, false, false, false, ""},
		"a GRUB without":     {serve.Conf{Loaders: serve.Loaders{EFI64: "x"}}, false, false, false, "GRUB in this tree cannot fetch by HTTP"},
		"an ARM one without": {serve.Conf{Loaders: serve.Loaders{EFIArm64: "x"}}, false, false, false, "GRUB in this tree cannot fetch by HTTP"},
		"taken": {serve.Conf{Address: netip.MustParsePrefix("127.0.0.78/8"), Loaders: serve.Loaders{HTTP64: true}}, false, false, false,
			"TCP 80 is taken by another server"},
	} {
		if !c.conf.Address.IsValid() {
			c.conf.Address = netip.MustParsePrefix("127.0.0.77/8")
		}
		var said bytes.Buffer
		o := serveOptions{show: c.show}
		err := o.openHTTP(&app.App{Stdout: &said, Stderr: &said}, &c.conf)
		if err != nil || c.conf.HTTP != c.http || (o.http != nil) != c.opens || !strings.Contains(said.String(), c.said) ||
			c.said == "" && said.Len() > 0 {
			t.Errorf("%s: %v, by HTTP %v, opened %v, said %q", name, err, c.conf.HTTP, o.http != nil, &said)
		}
		if o.http != nil {
			o.http.Close()
		}
	}
	conf := serve.Conf{Address: netip.MustParsePrefix("192.0.2.1/24"), Loaders: serve.Loaders{HTTP64: true}}
	if err := new(serveOptions).openHTTP(&app.App{}, &conf); err == nil || !strings.Contains(err.Error(), "opening 192.0.2.1:80: ") {
		t.Error(err)
	}
}

// TestVerdicts: what is said of a kernel and its initrd, a line each.
func TestVerdicts(t *testing.T) {
	for kind, word := range map[stale.Kind]string{stale.Unknown: "unknown", stale.Foreign: "not judged", stale.Fine: "clear",
		stale.Older: "warning", stale.Mixed: "critical", stale.Gone: "critical"} {
		v := stale.Verdict{Kind: kind, Summary: "so it is\x1b"}
		if got, want := verdictText("/srv/a", v), "/srv/a: "+word+": so it is\\x1b\n"; got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	v := stale.Verdict{Kind: stale.Unknown, Summary: "so it is", Detail: "more", Err: errors.New("it is dark")}
	if got := verdictText("a", v); got != "a: unknown: it is dark\n  more\n" {
		t.Errorf("%q", got)
	}
}

// TestMirrorInFiles: a Packages file is read as it is named, and of a mirror's folder the one that is there, the smallest first.
func TestMirrorInFiles(t *testing.T) {
	if _, err := (checkOptions{}).offered(t.Context(), nil, nil); !errors.Is(err, errNoMirror) {
		t.Error(err)
	}
	dir, p := t.TempDir(), &tree.Pair{}
	if _, err := fromFiles(dir, p); err == nil || !strings.Contains(err.Error(), "the mirror: ") {
		t.Error(err)
	}
	base := dir + "/" + strings.TrimSuffix(mirror.Path(p.Suite(), p.Arch()), ".xz")
	if err := os.MkdirAll(base[:strings.LastIndexByte(base, '/')], 0o755); err != nil {
		t.Fatal(err)
	}
	stanza := "Package: ext4-modules-6.1.0-1-amd64-di\nVersion: 6.1.1-1\nKernel-Version: 6.1.0-1-amd64\n\n"
	for _, name := range []string{base, base + ".gz", base + ".xz"} {
		if err := os.WriteFile(name, []byte(stanza), 0o644); err != nil {
			t.Fatal(err)
		}
		if ix, err := fromFiles(dir, p); err != nil && !strings.HasPrefix(err.Error(), name+": ") || err == nil && ix.From != name {
			t.Errorf("%s: read from %s, %v", name, ix.From, err)
		}
	}
	if ix, err := fromFiles(base, p); err != nil || ix.From != base {
		t.Errorf("%s, %v", ix.From, err)
	}
	for text, want := range map[string]string{"Package: a\nSHA256:  b \n": "b", "XSHA256: a\n": "", "SHA256:\n": ""} {
		if got := field([]byte(text), "SHA256"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
