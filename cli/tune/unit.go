package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/cli/app"
)

// unit is the service. Writing KSM's files takes root and no capability; all
// else of /sys, and every file system, is read-only to it.
const unit = `# Printed by: fettle tune ksm --unit
[Unit]
Description=Pace of kernel samepage merging
Documentation=man:fettle-tune-ksm(1) https://docs.kernel.org/admin-guide/mm/ksm.html
ConditionPathExists=/sys/kernel/mm/ksm/run
Conflicts=ksmtuned.service
After=ksm.service ksmtuned.service

[Service]
ExecStart=%s
ExecStopPost=%s tune ksm --give-back
# 2: no KSM, or another program sets the pace. 3: another program began to.
Restart=on-failure
RestartSec=1min
RestartPreventExitStatus=2 3
RuntimeDirectory=fettle
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths=/sys/kernel/mm/ksm%s
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectHome=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateNetwork=%s
RestrictAddressFamilies=%s
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
UMask=0022

[Install]
WantedBy=multi-user.target
`

// printUnit prints the service with the flags that were given.
func printUnit(a *app.App, f ksmFlags) error {
	if _, err := f.policy(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return app.Failf("finding fettle's own program: %w", err)
	}
	argv := []string{self, "tune", "ksm", "--cpu", f.cpu, "--peak", f.peak, "--free", f.free, "--pressure", f.pressure}
	if f.target != "" {
		argv = append(argv, "--target-saved", f.target)
	}
	if f.every != time.Hour {
		argv = append(argv, "--every", f.every.String())
	}
	write, private, families := "", "yes", "none"
	if f.textfile != "" {
		if !filepath.IsAbs(f.textfile) {
			return app.Usagef("--textfile %s: a service needs an absolute path", f.textfile)
		}
		argv = append(argv, "--textfile", f.textfile)
		write = " " + escaped(filepath.Dir(f.textfile))
	}
	if f.listen != "" {
		argv = append(argv, "--listen", f.listen)
		private, families = "no", "AF_INET AF_INET6"
	}
	for i, s := range argv {
		argv[i] = escaped(strings.ReplaceAll(s, "$", "$$"))
	}
	fmt.Fprintf(a.Stdout, unit, strings.Join(argv, " "), argv[0], write, private, families)
	return nil
}

// escaped writes a word for a unit file: systemd.syntax(7), "Quoting", and
// systemd.unit(5), "Specifiers".
func escaped(s string) string {
	s = strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`).Replace(s)
	if strings.ContainsAny(s, " \t';") {
		return `"` + s + `"`
	}
	return s
}
