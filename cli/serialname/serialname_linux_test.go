package serialname

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
	"fettle/tools/serialname"
)

// namer is a trap that names a device, by a plan that says what was chosen.
var namer = &trap.Trap{
	Lore:    "---\nid: namer\ntitle: Names a device\n---\n",
	Choices: []trap.Choice{{Name: "device"}, {Name: "by"}, {Name: "profile"}, {Name: "modem"}},
	Setup:   &trap.Setup{Name: "serialname", Finding: trap.Finding{Summary: "name it"}},
	Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
		r.Clear("", "looked")
		return nil
	},
	Plan: func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
		title := fmt.Sprintf("call %s %s (by %q, profile %q, modem %q)", f.Chosen("device"), f.Subject, f.Chosen("by"), f.Chosen("profile"),
			f.Chosen("modem"))
		return remedy.Plan{Title: title, Steps: []step.Step{step.File{Path: "/etc/fettle-test", Content: []byte("x\n")}}}, nil
	},
}

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], []*trap.Trap{namer}, nil, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func called(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	defer end()
	return apptest.Run(ctx, app.App{Traps: []*trap.Trap{namer}}, Cmd, append([]string{"serialname"}, args...)...)
}

func refused(t *testing.T, want map[string]string) {
	t.Helper()
	for args, want := range want {
		code, out, errs := called(t, strings.Fields(args)...)
		if said := strings.Join(strings.Fields(errs), " "); code != 2 || !strings.Contains(said, want) || out != "" {
			t.Errorf("%s: status %d, said %q and %q; want %q", args, code, out, errs, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	refused(t, map[string]string{
		"": "lists list, set and probe", "list x": "usage: ", "list --format xml": "xml", "set": "usage: ", "set a b": "usage: ",
		"set meter": "which device is meter? --for /dev/ttyUSB0; fettle serialname list shows them", "set /dev/meter": "which device is meter?",
		"set ../x --for ttyUSB0": "../x", "set meter --for=": "--for", "set meter --for ttyUSB0 --by name": "serial, port",
		"probe --expect x": "--expect goes with --profile", "probe --profile none": `there is no profile "none": expected one of `,
		"probe --profile banner --expect (": "--expect: ", "probe --profile=": "--profile",
	})
}

func TestProfilesAreListed(t *testing.T) {
	code, out, errs := called(t, "probe", "--list")
	if code != 0 || errs != "" || !strings.Contains(out, "nmea-gps (listens, up to ") || !strings.Contains(out, "modbus-rtu (sends, up to ") {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	err := listProfiles(&app.App{Stdout: full{}}, []serialname.Profile{{Name: "x"}})
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("to a full disk: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func profile(t *testing.T, name, rest string) serialname.Profile {
	t.Helper()
	p, err := serialname.ParseProfile(name+".profile", []byte("[Profile]\nAbout=The "+name+"\nSpeed=9600\nListen=50ms\n"+rest))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOnlyWhatIsAskedForIsSent: by default nothing is, and what anything matches counts only by name.
func TestOnlyWhatIsAskedForIsSent(t *testing.T) {
	all := []serialname.Profile{profile(t, "banner", "Expect=x\n"), profile(t, "hears", "Expect=x\n"),
		profile(t, "asks", "Send=\"a\"\nExpect=x\n")}
	for _, c := range []struct {
		o    probeOptions
		want string
	}{
		{probeOptions{}, "hears"}, {probeOptions{write: true}, "hears asks"}, {probeOptions{profile: "banner"}, "banner"},
		{probeOptions{profile: "asks"}, "asks"},
		{probeOptions{profile: "hears", write: true}, "hears"}, {probeOptions{profile: "hears", expect: "y+"}, "hears"},
	} {
		got, err := c.o.choose(all)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%+v: %q, %v", c.o, names, err)
		}
		if c.o.expect != "" && (!got[0].Expect.MatchString("y") || got[0].Expect.MatchString("x")) {
			t.Errorf("%+v: it expects %s", c.o, got[0].Expect)
		}
	}
	if _, err := (probeOptions{profile: "other"}).choose(all); err == nil ||
		err.Error() != `there is no profile "other": expected one of banner, hears, asks` {
		t.Errorf("one that is not there: %v", err)
	}
}

// line is a terminal whose other end says the text until the test ends.
func line(t *testing.T, says string) string {
	t.Helper()
	master, name := means.Terminal(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	go func() {
		for says != "" {
			select {
			case <-end:
				return
			case <-time.After(10 * time.Millisecond):
				_, _ = master.WriteString(says)
			}
		}
	}()
	return name
}

func TestProbesAreTold(t *testing.T) {
	one := []serialname.Profile{profile(t, "other", "Expect=never\n"), profile(t, "hello", "Expect=hel+o\n")}
	says, silent := line(t, "\x1bhello"), line(t, "")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hit := says + ": hello, at 9600 baud: The hello\n  \"hello\"\n"
	held := map[string][]serialname.Holder{"ttyUSB7": {{PID: 42, Name: "mm\x1b"}}, strings.TrimPrefix(says, "/dev/"): nil}
	const busy = `/dev/ttyUSB7: in use by mm\x1b (42); --force probes it nevertheless` + "\n"
	for _, c := range []struct {
		devices []string
		quiet   bool
		code    int
		out     string
		errs    string
	}{
		{devices: []string{says}, out: hit}, {devices: []string{strings.TrimPrefix(says, "/dev/pts/")}, code: 3, errs: "/dev/"},
		{devices: []string{says}, quiet: true}, {devices: []string{silent}, code: 1, out: silent + ": not recognised\n"},
		{devices: []string{silent}, quiet: true, code: 1}, {devices: []string{silent, says}, out: silent + ": not recognised\n" + hit},
		{devices: []string{file}, code: 3, errs: file + " is not a serial line"}, {devices: []string{file, says, file + "0"}, code: 3,
			out: hit, errs: file},
		{devices: []string{"ttyUSB7"}, code: 1, out: busy}, {devices: []string{"/dev/ttyUSB7", says}, out: busy + hit},
		{devices: nil, code: 1},
	} {
		var out, errs strings.Builder
		a := &app.App{Program: "fettle", Stdout: &out, Stderr: &errs}
		code := a.End(ask(t.Context(), a, c.devices, one, held, probeOptions{quiet: c.quiet}))
		if code != c.code || out.String() != c.out || !strings.Contains(errs.String(), c.errs) || (errs.Len() == 0) != (c.errs == "") {
			t.Errorf("%q (quiet: %v): status %d, said %q and %q; want %d, %q", c.devices, c.quiet, code, out.String(), errs.String(), c.code, c.out)
		}
	}
	var out, errs strings.Builder
	a := &app.App{Program: "fettle", Stdout: &out, Stderr: &errs}
	if code := a.End(ask(t.Context(), a, []string{file, file + "0"}, one, nil, probeOptions{})); code != 3 ||
		!strings.Contains(errs.String(), file+" is not") ||
		!strings.Contains(errs.String(), file+"0: no such file") {
		t.Errorf("two that cannot be probed: %d, %s", code, errs.String())
	}
}

// TestLongAnswersAreCut to the width of the terminal.
func TestLongAnswersAreCut(t *testing.T) {
	long := line(t, "hello"+strings.Repeat(".", 200)+"!")
	var out strings.Builder
	if err := ask(t.Context(), &app.App{Stdout: &out}, []string{long}, []serialname.Profile{profile(t, "hello", "Expect=hello\\.+!\n")},
		nil, probeOptions{}); err != nil {
		t.Fatal(err)
	}
	_, answer, _ := strings.Cut(out.String(), "\n")
	if n := len([]rune(strings.TrimSuffix(answer, "\n"))); n > 80 || n < 70 || !strings.HasPrefix(answer, `  "hello...`) {
		t.Errorf("%d columns: %s", n, answer)
	}
}

func TestList(t *testing.T) {
	first := port{Device: serialname.Device{Kernel: "ttyUSB0", Vendor: "0403", Product: "6001", Serial: "A1", Manufacturer: "FTDI",
		Model: "UART\x1b", Port: "1-1.2",
		Interface: "00", IDPath: "pci-1", Driver: "ftdi_sio", SubPort: "0", Links: []string{"meter", "serial/by-id/x"}},
		Users: []serialname.Holder{{PID: 7, Name: "gpsd"}}}
	second := port{Device: serialname.Device{Kernel: "ttyACM1", Vendor: "1a86", Product: "55d4", Model: "UART", Port: "2-1",
		Interface: "02", SubPort: "1", Driver: "cdc_acm"}}
	shared, none := first, second
	shared.Shared, shared.Links, shared.Users = true, nil, nil
	none.Shared = true
	firstText := `/dev/ttyUSB0  0403:6001  FTDI UART\x1b
  serial   A1
  port     1-1.2, interface 00  pci-1
  driver   ftdi_sio
  name     /dev/meter
  name     /dev/serial/by-id/x
  open in  gpsd (7)
`
	secondText := `/dev/ttyACM1  1a86:55d4  UART
  serial   none
  port     2-1, interface 02, port 1 of the adapter  ` + `
  driver   cdc_acm
`
	for _, c := range []struct {
		doc  document
		want string
	}{
		{document{}, "There is no USB serial device.\n"}, {document{Devices: []port{first}}, firstText},
		{document{Devices: []port{first, second}}, firstText + "\n" + secondText},
		{document{Devices: []port{second}, Unseen: 1}, secondText + "\nProcesses of other users could not be inspected: that needs root.\n\n"},
		{document{Devices: []port{shared}}, "/dev/ttyUSB0  0403:6001  FTDI UART\\x1b\n  serial   A1, which another device has too\n" +
			"  port     1-1.2, interface 00  pci-1\n  driver   ftdi_sio\n"},
		{document{Devices: []port{none}}, strings.Replace(secondText, "none", "none, and another device of this kind is there", 1)},
	} {
		var out strings.Builder
		if err := listText(&app.App{Stdout: &out}, c.doc); err != nil || out.String() != c.want {
			t.Errorf("%v, got\n%q\nwant\n%q", err, out.String(), c.want)
		}
		if err := listText(&app.App{Stdout: full{}}, c.doc); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("to a full disk: %v", err)
		}
	}
}

// plug makes a converter as sysfs shows it.
func plug(t *testing.T, kernel, port, serial string) {
	t.Helper()
	usb := "/sys/devices/pci0000:00/usb1/" + port
	iface := usb + "/" + port + ":1.0"
	own := iface + "/" + kernel
	for name, text := range map[string]string{
		usb + "/idVendor": "0403", usb + "/idProduct": "6001", usb + "/serial": serial, usb + "/manufacturer": "FTDI",
		usb + "/product": "UART", iface + "/bInterfaceNumber": "00", own + "/port_number": "0",
		own + "/tty/" + kernel + "/dev": "188:" + kernel[6:],
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"/sys/class/tty/" + kernel: own + "/tty/" + kernel, own + "/tty/" + kernel + "/subsystem": "/sys/class/tty",
		own + "/subsystem": "/sys/bus/usb-serial", own + "/driver": "/sys/bus/usb-serial/drivers/ftdi_sio", iface + "/subsystem": "/sys/bus/usb",
		usb + "/subsystem": "/sys/bus/usb",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestThisHost is one with devices that are files.
func TestThisHost(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, means.Patience) {
		return
	}
	gps := line(t, "$GPGLL,5300.97914,N,00259.98174,E,125926,A*28\r\n")
	old := t.TempDir()
	if err := errors.Join(unix.Mount("/dev", old, "", unix.MS_BIND|unix.MS_REC, ""), unix.Mount("none", "/dev", "tmpfs", 0, ""),
		unix.Mount("none", "/sys/class", "tmpfs", 0, ""), unix.Mount("none", "/sys/devices", "tmpfs", 0, ""), os.Mkdir("/dev/pts", 0o755),
		unix.Mount(old+"/pts", "/dev/pts", "", unix.MS_BIND, ""),
		os.WriteFile("/dev/null", nil, 0o666), unix.Mount(old+"/null", "/dev/null", "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(old, unix.MNT_DETACH) })

	t.Run("without any", func(t *testing.T) {
		if code, out, errs := called(t, "list"); code != 0 || out != "There is no USB serial device.\n" || errs != "" {
			t.Errorf("list: %d, %q, %q", code, out, errs)
		}
		if code, out, errs := called(t, "probe"); code != 1 || out != "" || errs != "fettle: there is no USB serial device\n" {
			t.Errorf("probe: %d, %q, %q", code, out, errs)
		}
		refused(t, map[string]string{"set meter --for ttyUSB0": "--for: ttyUSB0 is not a USB serial device that is plugged in: there is none"})
	})
	plug(t, "ttyUSB0", "1-1", "A1")
	if err := os.WriteFile("/dev/ttyUSB0", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open("/dev/ttyUSB0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Symlink(gps, "/dev/ttyUSB1"); err != nil {
		t.Fatal(err)
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	user := fmt.Sprintf("%s (%d)", strings.TrimSpace(string(comm)), os.Getpid())
	list := func(t *testing.T) (d document) {
		t.Helper()
		code, out, errs := called(t, "list", "--format", "json")
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || d.Format != "fettle-serial-devices" {
			t.Fatalf("status %d, %v, said %q and %q", code, err, out, errs)
		}
		return d
	}
	t.Run("one", func(t *testing.T) {
		want := "/dev/ttyUSB0  0403:6001  FTDI UART\n  serial   A1\n  port     1-1, interface 00  \n  driver   ftdi_sio\n  open in  " + user +
			"\n"
		if code, out, errs := called(t, "list"); code != 0 || out != want || errs != "" {
			t.Errorf("%d, %q, %q; want %q", code, out, errs, want)
		}
		if d := list(t).Devices; len(d) != 1 || d[0].Shared || len(d[0].Users) != 1 || d[0].Users[0].PID != os.Getpid() {
			t.Errorf("%+v", d)
		}
	})
	plug(t, "ttyUSB1", "1-2", "B2")
	t.Run("two of a kind", func(t *testing.T) {
		if d := list(t).Devices; len(d) != 2 || d[0].Shared || d[1].Shared || d[1].Kernel != "ttyUSB1" || d[1].Users == nil {
			t.Errorf("%+v", d)
		}
	})
	t.Run("probe", func(t *testing.T) {
		inUse := "/dev/ttyUSB0: in use by " + user + "; --force probes it nevertheless\n"
		gps := "/dev/ttyUSB1: nmea-gps, at 4800 baud: GPS receiver that speaks NMEA 0183\n  "
		if code, out, errs := called(t, "probe", "--profile", "nmea-gps"); code != 0 || !strings.HasPrefix(out, inUse+gps) || errs != "" {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		for _, flag := range []string{"--force", "--quiet"} {
			code, out, errs := called(t, "probe", "--profile", "nmea-gps", flag, "ttyUSB0")
			if code != 3 || !strings.Contains(errs, "/dev/ttyUSB0 is not a serial line") || out != "" {
				t.Errorf("%s: %d, %q, %q", flag, code, out, errs)
			}
		}
		if code, out, errs := called(t, "probe", "--profile", "nmea-gps", "/dev/ttyUSB1"); code != 0 || !strings.HasPrefix(out, gps) ||
			errs != "" {
			t.Errorf("of one: %d, %q, %q", code, out, errs)
		}
	})
	t.Run("set", func(t *testing.T) {
		for args, want := range map[string]string{
			"meter --for ttyUSB0":                             `call ttyUSB0 /dev/meter (by "", profile "", modem "")`,
			"/dev/meter --for /dev/ttyUSB1 --by port":         `call ttyUSB1 /dev/meter (by "port", profile "", modem "")`,
			"gps --for ttyUSB1 --profile nmea-gps --modem":    `call ttyUSB1 /dev/gps (by "", profile "nmea-gps", modem "yes")`,
			"gps --for ttyUSB1 --by probe --profile nmea-gps": `call ttyUSB1 /dev/gps (by "probe", profile "nmea-gps", modem "")`,
		} {
			code, out, errs := called(t, append([]string{"set", "--plan"}, strings.Fields(args)...)...)
			if code != 0 || !strings.Contains(out, want) || errs != "" {
				t.Errorf("%s: %d, %q, %q; want %q", args, code, out, errs, want)
			}
		}
		refused(t, map[string]string{
			"set meter --for ttyUSB9": "--for: ttyUSB9 is not a USB serial device that is plugged in: there are ttyUSB0, ttyUSB1",
			"set meter --for ttyUSB0": "there is no terminal to ask on",
		})
		code, out, errs := apptest.Run(t.Context(), app.App{}, Cmd, "serialname", "set", "meter", "--for", "ttyUSB0", "--plan")
		if code != 3 || out != "" || !strings.Contains(errs, "no trap that sets up serialname") {
			t.Errorf("without the trap: %d, %q, %q", code, out, errs)
		}
	})
	plug(t, "ttyUSB2", "1-3", "A1")
	t.Run("two that cannot be told apart", func(t *testing.T) {
		if d := list(t).Devices; len(d) != 3 || !d[0].Shared || d[1].Shared || !d[2].Shared {
			t.Errorf("%+v", d)
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		if err := errors.Join(os.RemoveAll("/sys/class/tty"), os.Symlink("tty", "/sys/class/tty")); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"list", "probe --profile nmea-gps", "set meter --for ttyUSB0"} {
			code, out, errs := called(t, strings.Fields(args)...)
			if code != 3 || out != "" || !strings.HasPrefix(errs, "fettle: listing serial devices: ") {
				t.Errorf("%s: %d, %q, %q", args, code, out, errs)
			}
		}
		code, out, errs := called(t, "probe", "--profile", "nmea-gps", "ttyUSB1")
		if code != 0 || !strings.HasPrefix(out, "/dev/ttyUSB1: nmea-gps, ") || errs != "" {
			t.Errorf("one that is named: %d, %q, %q", code, out, errs)
		}
	})
}
