package netboot

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/lazy"
)

type consoleOptions struct {
	user, passwordFile string
	port               int
	log                string
	speed              int
	silent             time.Duration
	take, once         bool
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

func consoleCmd(a *app.App) *cobra.Command {
	var o consoleOptions
	c := &cobra.Command{
		Use:   "console HOST",
		Short: "Show a host's serial console through its BMC, and log it",
		Long: `HOST is the name or address of a BMC, reached by ipmitool (IPMI 2.0, serial over
LAN). ssh:HOST logs in to a BMC's own shell, libvirt:NAME shows a virtual
machine (virsh console), unix:/PATH a socket of qemu (-serial unix:PATH,server).

--log keeps all that comes, readable for its owner alone. When the connection
breaks it is made again, after longer and longer pauses; not where the login was
refused.
When nothing comes for --silent, the BMC is asked why: is the host off, serial
over LAN disabled, or at another speed than --speed?

ipmitool ends with Enter and "~.", virsh and unix:PATH with Ctrl-].
The password comes from --password-file, the variable IPMI_PASSWORD, or is asked
for. A login that is the maker's own default is told as critical.

Exit status: 0 ended by you, 2 usage error, 3 it could not be connected.`,
		Example: `  fettle netboot console bmc7.example.org --user admin --log bmc7.log
  fettle netboot console unix:/run/vm/serial.sock`,
		Args:    cobra.ExactArgs(1),
		PreRunE: app.NoEmptyFlags,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := parseWay(args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			if o.silent < 0 {
				return app.Usagef("--silent %s: must not be negative", o.silent)
			}
			return runConsole(cmd.Context(), a, w, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.user, "user", "ADMIN", "log in to the BMC as `USER`")
	f.StringVar(&o.passwordFile, "password-file", "", "read the password from the first line of this `FILE`")
	f.IntVar(&o.port, "port", 623, "the BMC's UDP `PORT`")
	f.StringVar(&o.log, "log", "", "append all that comes to this `FILE`")
	f.IntVar(&o.speed, "speed", 115200, "the speed in `BITS` per second that is expected")
	f.DurationVar(&o.silent, "silent", 20*time.Second, "look for the reason after this `TIME` without a word; 0: never")
	f.BoolVar(&o.take, "take", false, "end another's session on the console first")
	f.BoolVar(&o.once, "once", false, "do not connect again")
	return c
}
