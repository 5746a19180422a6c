package netboot

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle/cli/app"
	"fettle/internal/lazy"
	"fettle/internal/ui"
	"fettle/tools/netboot/menu"
)

type consoleOptions struct {
	user, passwordFile string
	port               int
	log                string
	speed              int
	silent             time.Duration
	start              string
	take, once         bool
	cipher             int // of IPMI; -1: ipmitool chooses
}

// way is how a console is reached.
type way struct {
	kind string // "ipmi", "ssh", "libvirt", "unix"
	name string
}

var consoleHost = lazy.Regexp(`^[A-Za-z0-9_.:@\[\]-]{1,255}$`)

// parseWay reads HOST, ssh:HOST, libvirt:NAME or unix:PATH.
func parseWay(text string) (way, error) {
	kind, name, ok := strings.Cut(text, ":")
	switch {
	case ok && kind == "unix" && strings.HasPrefix(name, "/"):
		return way{kind, name}, nil
	case !ok || kind != "ipmi" && kind != "ssh" && kind != "libvirt":
		kind, name = "ipmi", text
	}
	if !consoleHost().MatchString(name) || strings.HasPrefix(name, "-") {
		return way{}, fmt.Errorf("%.80q: expected a BMC's name or address, ssh:HOST, libvirt:NAME or unix:/PATH", text)
	}
	return way{kind, name}, nil
}

// valid refuses what no BMC needs to be asked for.
func (o *consoleOptions) valid(f *pflag.FlagSet, w way) error {
	switch {
	case o.silent < 0:
		return fmt.Errorf("--silent %s: must not be negative", o.silent)
	case f.Changed("port") && (o.port < 1 || o.port > 65535):
		return fmt.Errorf("--port %d: expected 1 to 65535", o.port)
	case o.start != "" && w.kind != "ssh":
		return fmt.Errorf("--start has no effect without ssh:HOST")
	case f.Changed("cipher") && (o.cipher < 0 || o.cipher > 255):
		return fmt.Errorf("--cipher %d: expected 0 to 255", o.cipher)
	case f.Changed("cipher") && w.kind != "ipmi":
		return fmt.Errorf("--cipher has no effect with %s:", w.kind)
	case f.Changed("port") && w.kind != "ssh" && w.kind != "ipmi":
		return fmt.Errorf("--port has no effect with %s:", w.kind)
	case menu.CheckSpeed(o.speed) != nil:
		return fmt.Errorf("--%w", menu.CheckSpeed(o.speed))
	case w.kind == "unix":
		switch st, err := os.Stat(w.name); {
		case err == nil && st.Mode()&fs.ModeSocket == 0:
			return fmt.Errorf("%s is not a socket: expected one that qemu or another program listens on", ui.Quote(w.name))
		case err != nil && o.once:
			return err
		}
	}
	return nil
}

// sshArgs are those of ssh, with a terminal on the other side.
func (o *consoleOptions) sshArgs(name string) []string {
	args := []string{"-tt"}
	if o.port != 0 {
		args = append(args, "-p", strconv.Itoa(o.port))
	}
	args = append(args, "--", name)
	if o.start != "" {
		args = append(args, o.start)
	}
	return args
}

func consoleCmd(a *app.App) *cobra.Command {
	var o consoleOptions
	c := &cobra.Command{
		Use:   "console HOST",
		Short: "Show a host's serial console through its BMC, and log it",
		Long: `Opens a serial console. HOST is the name or address of a BMC, reached with
ipmitool (IPMI 2.0, serial over LAN). ssh:[USER@]HOST logs in to a BMC's own
shell, where the command --start opens the console. libvirt:NAME opens that of a
virtual machine (virsh console), unix:/PATH a socket of qemu (-serial
unix:PATH,server).

--log writes all output to a file that only its owner can read. If the
connection breaks, or nothing answers, fettle says why and tries again, with
increasing delays. It ends where that is no use: the login was refused, or there
is no common cipher suite. After the time --silent without output, fettle asks
the BMC whether the host is off, serial over LAN is disabled, or its speed
differs from --speed.

To end the session, type Enter and "~." (ipmitool), or Ctrl-] (virsh,
unix:PATH). The password comes from --password-file, the variable IPMI_PASSWORD,
or a prompt. A login with the vendor's default name and password is reported as
critical.

Exit status:
  0  ended by the user
  2  usage error
  3  no connection`,
		Example: `  fettle netboot console bmc7.example.org --user admin --log bmc7.log
  fettle netboot console ssh:root@idrac7 --start 'console com2'
  fettle netboot console ssh:root@openbmc7 --port 2200
  fettle netboot console unix:/run/vm/serial.sock`,
		Args:    cobra.ExactArgs(1),
		PreRunE: app.NoEmptyFlags,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := parseWay(args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			if err := o.valid(cmd.Flags(), w); err != nil {
				return app.Usagef("%w", err)
			}
			return runConsole(cmd.Context(), a, w, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.user, "user", "ADMIN", "log in to the BMC as `USER`")
	f.StringVar(&o.passwordFile, "password-file", "", "read the password from the first line of this `FILE`")
	f.IntVar(&o.port, "port", 0, "the BMC's `PORT` (default: 623; with ssh: as ssh's configuration says)")
	f.IntVar(&o.cipher, "cipher", -1, "IPMI cipher suite `NUMBER`, such as 3 or 17 (default: ipmitool chooses)")
	f.StringVar(&o.start, "start", "", "with ssh: the `COMMAND` in the BMC's shell that opens the console")
	f.StringVar(&o.log, "log", "", "append all output to this `FILE`")
	f.IntVar(&o.speed, "speed", 115200, "expected speed in `BITS` per second")
	f.DurationVar(&o.silent, "silent", 20*time.Second, "look for the reason after this `TIME` without output; 0: never")
	f.BoolVar(&o.take, "take", false, "end another session on the console first")
	f.BoolVar(&o.once, "once", false, "do not reconnect")
	return c
}
