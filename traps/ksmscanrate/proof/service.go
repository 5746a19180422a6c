package proof

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"fettle/internal/mergeable"
	"fettle/lab"
)

// service runs fettle tune ksm as systemd runs it, sandbox and all, and ends it
// in every way: each time KSM must be again what it was.
func service(_ context.Context, b *lab.Bench) error {
	const unit = "fettle-ksm.service"
	text, err := b.Run(
		"fettle",
		"tune",
		"ksm",
		"--cpu",
		"50%",
		"--free",
		"100%",
		"--pressure",
		"100%",
		"--every",
		"5s",
		"--textfile",
		"/run/ksm.prom",
		"--unit",
	)
	if err != nil {
		return err
	}
	if err := os.WriteFile("/run/systemd/system/"+unit, []byte(text), 0o644); err != nil {
		return err
	}
	if _, err := b.Run("systemctl", "daemon-reload"); err != nil {
		return err
	}
	g := mergeable.Guest{MiB: 48, Equal: 0.5, Ready: "/run/mergeable-service"}
	_, stop, err := b.Spawn(append([]string{"fettle-lab", lab.MergeableVerb}, g.Args()...))
	if err != nil {
		return err
	}
	defer stop()
	for _, s := range [][2]string{{"pages_to_scan", "123"}, {"sleep_millisecs", "45"}, {"run", "0"}} {
		if err := write(s[0], s[1]); err != nil {
			return err
		}
	}
	b.Columns("Ended by", "Settings while it ran", "Settings after", "Service", "MiB saved")
	for _, end := range [][]string{
		{"systemctl", "stop", unit},
		{"systemctl", "kill", "--kill-who=main", "--signal=KILL", unit},
		{"systemctl", "kill", "--kill-who=all", "--signal=KILL", unit},
	} {
		_, _, _ = b.Exec([]string{"systemctl", "reset-failed", unit}) // it may not be loaded yet
		if out, err := b.Run("systemctl", "start", unit); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		during, saved, err := until(func() bool { return settings() != "123 45 0" && value("pages_sharing") > 0 })
		if err != nil {
			log, _, _ := b.Exec([]string{"journalctl", "-u", unit, "--no-pager", "-n", "5", "-o", "cat"})
			return fmt.Errorf("%s: the service merged nothing: %w: %s", unit, err, log)
		}
		if _, err := b.Run(end...); err != nil {
			return err
		}
		after, _, err := until(func() bool { return settings() == "123 45 0" })
		if err != nil {
			return fmt.Errorf("after %s: settings are %s, expected 123 45 0", strings.Join(end, " "), after)
		}
		state, _, _ := b.Exec([]string{"systemctl", "show", "--property=Result", "--value", unit})
		b.Row(strings.Join(end[1:len(end)-1], " "), during, after, strings.TrimSpace(state), fmt.Sprint(saved*int64(os.Getpagesize())>>20))
		if _, err := b.Run("systemctl", "stop", unit); err != nil { // no restart within the minute
			return err
		}
	}
	if _, err := os.Stat("/run/ksm.prom"); err != nil {
		return fmt.Errorf("no metrics: %w", err)
	}
	return nil
}

// until waits a minute for something, and says what the settings are then and
// how many pages are saved.
func until(so func() bool) (string, int64, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if so() {
			return settings(), value("pages_sharing"), nil
		}
		if time.Now().After(end) {
			return settings(), 0, fmt.Errorf("not within a minute: settings are %s", settings())
		}
	}
}

// settings are pages_to_scan, sleep_millisecs and run.
func settings() string {
	return fmt.Sprintf("%d %d %d", value("pages_to_scan"), value("sleep_millisecs"), value("run"))
}

// value is a number of KSM's; -1 where it cannot be read.
func value(name string) int64 {
	b, err := os.ReadFile(dir + name)
	if err != nil {
		return -1
	}
	var n int64
	if _, err := fmt.Sscan(string(b), &n); err != nil {
		return -1
	}
	return n
}
