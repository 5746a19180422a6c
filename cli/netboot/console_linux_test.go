package netboot

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/internal/means"
)

// lockedBuffer is written and read at once.
type lockedBuffer struct{ means.Said }

// has waits for what a simulated BMC brings, which takes seconds by itself.
func (l *lockedBuffer) has(t *testing.T, want string) {
	t.Helper()
	l.hasWithin(t, max(means.Patience, 30*time.Second), want)
}

// comes waits for what comes at once.
func (l *lockedBuffer) comes(t *testing.T, want string) {
	t.Helper()
	l.hasWithin(t, means.Patience, want)
}

func (l *lockedBuffer) hasWithin(t *testing.T, limit time.Duration, want string) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if strings.Contains(l.String(), want) {
			return
		}
	}
	t.Fatalf("%q did not come:\n%s", want, l)
}

// serialPort is a host's serial port, over TCP: it says text and sends back what it gets.
func serialPort(t *testing.T, text string) (address string) {
	t.Helper()
	return means.Serve(t, func(c net.Conn) {
		for range 100 { // it may connect before anybody looks
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(300 * time.Millisecond)
		}
	})
}

// simulator starts OpenIPMI's BMC simulator with a user ADMIN; its port is a UDP port of the loopback.
func simulator(t *testing.T, serial, password string) (port int) {
	t.Helper()
	means.Tool(t, "ipmitool")
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = pc.LocalAddr().(*net.UDPAddr).Port
	pc.Close()
	simulatorAt(t, port, serial, password)
	return port
}

func simulatorAt(t *testing.T, port int, serial, password string) {
	t.Helper()
	sim := means.Tool(t, "ipmi_sim")
	dir := t.TempDir()
	lan := fmt.Sprintf(`name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %d
    priv_limit admin
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  sol "tcp:%s" 115200
  user 2 true "ADMIN" %q admin 10 none md2 md5 straight
`, port, serial, password)
	commands := "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nmc_enable 0x20\n"
	os.WriteFile(filepath.Join(dir, "lan.conf"), []byte(lan), 0o600)
	os.WriteFile(filepath.Join(dir, "commands"), []byte(commands), 0o600)
	c := exec.Command(sim, "-n", "-c", filepath.Join(dir, "lan.conf"), "-f", filepath.Join(dir, "commands"), "-s", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	time.Sleep(time.Second)
}

func console(t *testing.T, w way, o consoleOptions, password string, until func(out, warn *lockedBuffer, keys io.Writer)) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, keys := io.Pipe()
	defer keys.Close()
	var out, warn lockedBuffer
	o.user, o.passwordFile = cmp.Or(o.user, "ADMIN"), file
	if o.cipher == 0 {
		o.cipher = -1
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- runConsole(ctx, &app.App{Program: "fettle", Stdin: in, Stdout: &out, Stderr: &warn}, w, o)
	}()
	if until != nil {
		until(&out, &warn, keys)
		cancel()
	}
	select {
	case err := <-done:
		return err
	case <-time.After(60 * time.Second):
		t.Fatalf("the console does not end:\n%s\n%s", &out, &warn)
	}
	return nil
}

// TestConsole is against a BMC that OpenIPMI simulates.
func TestConsole(t *testing.T) {
	t.Run("a default login, a log", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(t.TempDir(), "log")
		port := simulator(t, serialPort(t, "hello from ttyS1\r\n"), "ADMIN")
		err := console(
			t,
			way{"ipmi", "127.0.0.1"},
			consoleOptions{port: port, log: log, speed: 115200, silent: time.Minute},
			"ADMIN",
			func(out, warn *lockedBuffer, _ io.Writer) {
				out.has(t, "hello from ttyS1")
				warn.has(t, "CRITICAL: 127.0.0.1 has the login that Supermicro ships it with")
			},
		)
		b, _ := os.ReadFile(log)
		if err != nil || !strings.Contains(string(b), "hello from ttyS1") {
			t.Errorf("%v; the log says %q", err, b)
		}
		if st, err := os.Stat(log); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("others may read the log: %v, %v", st, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		port := simulator(t, serialPort(t, ""), "other")
		err := console(t, way{"ipmi", "127.0.0.1"}, consoleOptions{port: port}, "wrong", nil)
		if err == nil || !strings.Contains(err.Error(), "refuses the login of ADMIN") {
			t.Errorf("%v", err)
		}
	})
	t.Run("no such user", func(t *testing.T) {
		t.Parallel()
		port := simulator(t, serialPort(t, ""), "other")
		err := console(t, way{"ipmi", "127.0.0.1"}, consoleOptions{port: port, user: "nobody"}, "other", nil)
		if err == nil || !strings.Contains(err.Error(), "refuses the login of nobody: RAKP 2 message indicates an error : unauthorized name") {
			t.Errorf("%v", err)
		}
	})
	t.Run("no such cipher suite", func(t *testing.T) {
		t.Parallel()
		port := simulator(t, serialPort(t, ""), "other")
		err := console(t, way{"ipmi", "127.0.0.1"}, consoleOptions{port: port, cipher: 17}, "other", nil)
		const want = "does not support the cipher suite (Error in open session response message : invalid auth"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing listens, then the BMC is there", func(t *testing.T) {
		t.Parallel()
		pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := pc.LocalAddr().(*net.UDPAddr).Port
		pc.Close()
		o := consoleOptions{port: port, silent: time.Minute}
		err = console(t, way{"ipmi", "127.0.0.1"}, o, "other", func(out, warn *lockedBuffer, _ io.Writer) {
			warn.has(t, fmt.Sprintf("nothing listens on UDP port %d of 127.0.0.1", port))
			simulatorAt(t, port, serialPort(t, "hello again\r\n"), "other")
			out.has(t, "hello again")
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("mute", func(t *testing.T) {
		t.Parallel()
		pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		port := pc.LocalAddr().(*net.UDPAddr).Port
		err = console(t, way{"ipmi", "127.0.0.1"}, consoleOptions{port: port, once: true}, "other", nil)
		if err == nil || !strings.Contains(err.Error(), "does not answer on UDP port") {
			t.Errorf("%v", err)
		}
	})
	t.Run("no such name", func(t *testing.T) {
		t.Parallel()
		err := console(t, way{"ipmi", "bmc.invalid"}, consoleOptions{once: true}, "other", nil)
		if err == nil || strings.Contains(err.Error(), "refuses") || !strings.Contains(err.Error(), "bmc.invalid") {
			t.Errorf("%v", err)
		}
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		port := simulator(t, serialPort(t, ""), "other")
		console(
			t,
			way{"ipmi", "127.0.0.1"},
			consoleOptions{port: port, speed: 115200, silent: 3 * time.Second},
			"other",
			func(out, warn *lockedBuffer, _ io.Writer) {
				warn.has(t, "nothing comes: ")
			},
		)
	})
}

// TestConsoleBoot: behind the simulated BMC stands a machine, whose kernel writes to
// its serial port and whose shell of the initrd answers there.
func TestConsoleBoot(t *testing.T) {
	means.Long(t, "boots a virtual machine")
	const tree = "/usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64/"
	if _, err := os.Stat(tree + "linux"); err != nil {
		means.Missing(t, "needs "+tree+"linux")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serial := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	qemu := exec.Command(
		means.Tool(t, "qemu-system-x86_64"),
		"-nodefaults",
		"-display",
		"none",
		"-accel",
		"tcg",
		"-m",
		"512",
		"-S",
		"-monitor",
		"unix:"+filepath.Join(dir, "monitor")+",server=on,wait=off",
		"-serial",
		"tcp:"+serial+",server=on,wait=off",
		"-kernel",
		tree+"linux",
		"-initrd",
		tree+"initrd.gz",
		"-append",
		"console=ttyS0,115200n8 rdinit=/bin/sh",
	)
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { qemu.Process.Kill(); qemu.Wait() })
	monitor := means.Dial(t, "unix", filepath.Join(dir, "monitor"))
	defer monitor.Close()
	port := simulator(t, serial, "other")
	err = console(t, way{"ipmi", "127.0.0.1"}, consoleOptions{port: port}, "other", func(out, _ *lockedBuffer, keys io.Writer) {
		out.has(t, "SOL Session operational")
		fmt.Fprintln(monitor, "cont")
		out.hasWithin(t, 5*time.Minute, "Linux version")
		out.hasWithin(t, 5*time.Minute, "Run /bin/sh as init process")
		fmt.Fprint(keys, "cat /etc/debian_version; echo $((6*7))-$$\r")
		out.hasWithin(t, time.Minute, "42-1")
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConsoleSocket: as qemu offers a serial port; it breaks, and is there again.
func TestConsoleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(c, "connection %d\r\n", n)
			if n > 1 {
				defer c.Close()
				continue
			}
			c.Close()
		}
	}()
	err = console(t, way{"unix", path}, consoleOptions{}, "", func(out, warn *lockedBuffer, _ io.Writer) {
		out.has(t, "connection 2")
		warn.has(t, "trying again in 1s")
	})
	if err != nil {
		t.Error(err)
	}
}

func TestParseWay(t *testing.T) {
	for text, want := range map[string]way{"bmc7": {"ipmi", "bmc7"}, "192.0.2.7": {"ipmi", "192.0.2.7"}, "ipmi:bmc7": {"ipmi", "bmc7"},
		"ssh:ADMIN@bmc7": {"ssh", "ADMIN@bmc7"},
		"libvirt:web1":   {"libvirt", "web1"}, "unix:/run/s": {"unix", "/run/s"}, "2001:db8::7": {"ipmi", "2001:db8::7"},
		"-oProxyCommand=x": {}, "ssh:-x": {}, "unix:s": {"ipmi", "unix:s"}, "a b": {}, "": {}} {
		got, err := parseWay(text)
		if (err != nil) != (want == way{}) || got != want && err == nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
