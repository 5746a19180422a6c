package cause

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// SystemBus is where the system's D-Bus listens.
const SystemBus = "/run/dbus/system_bus_socket"

// PingLogind tells how long systemd-logind takes to answer over D-Bus. A
// logind that is not running is started by the call, as pam_systemd's would.
// An error says that there was no answer, and took how long that was waited for.
func PingLogind(ctx context.Context, bus string, limit time.Duration) (took time.Duration, err error) {
	start := time.Now()
	defer func() { took = time.Since(start) }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(bus), dbus.WithContext(ctx))
	if err != nil {
		return 0, fmt.Errorf("the system's D-Bus: %w", err)
	}
	defer conn.Close()
	if err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err == nil {
		if err = conn.Hello(); err == nil {
			err = conn.Object("org.freedesktop.login1", "/org/freedesktop/login1").CallWithContext(ctx, "org.freedesktop.DBus.Peer.Ping", 0).Err
		}
	}
	var said dbus.Error
	switch {
	case err == nil:
		return 0, nil
	case ctx.Err() != nil:
		return 0, fmt.Errorf("logind did not answer over D-Bus in %s", limit)
	case errors.As(err, &said):
		return 0, fmt.Errorf("asking logind over D-Bus: %s: %w", said.Name, err)
	}
	return 0, fmt.Errorf("asking logind over D-Bus: %w", err)
}
