package netboot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
)

// rewrites is a trap whose plan says what was chosen.
var rewrites = &trap.Trap{
	Lore:    "---\nid: rewrites\ntitle: Rewrites menus\n---\n",
	Choices: []trap.Choice{{Name: "port"}, {Name: "speed"}},
	Setup:   &trap.Setup{Name: "netboot-serial", Finding: trap.Finding{Summary: "a serial console"}},
	Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
		r.Clear("", "looked")
		return nil
	},
	Plan: func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
		title := fmt.Sprintf("%s to %q at %q", f.Subject, f.Chosen("port"), f.Chosen("speed"))
		return remedy.Plan{Title: title, Steps: []step.Step{step.File{Path: "/etc/fettle-test", Content: []byte("x\n")}}}, nil
	},
}

// image is what is noted where the tests run in a container.
var image = regexp.MustCompile(`(?s)Note: \S+ belongs to the image.*?to take\s+over\.\n`)

// stages are folders from which something would be served.
var stages = regexp.MustCompile(`/mnt/tmp/[^/\s,]+`)

// TestInput: what is read, and what is refused with which message, on a host of its own.
func TestInput(t *testing.T) {
	const serialMenu = "serial --unit=0 --speed=115200\nterminal_input serial\nterminal_output serial\n" +
		"menuentry 'a' {\n  linux /linux console=ttyS0,115200n8 --- quiet console=ttyS0,115200n8\n}\n"
	const doneMenu = "serial 0 115200\ndefault a\nlabel a\n\tkernel linux\n\tappend console=ttyS0,115200n8 --- quiet console=ttyS0,115200n8\n"
	if !apptest.Golden(t, map[string]string{"/mnt/file": "hello\n", "/mnt/menus/grub/grub.cfg": "menuentry 'a' {\n  linux /linux vga=788 " +
		"--- quiet\n}\n",
		"/mnt/loop/pxelinux.cfg/default": "include pxelinux.cfg/default\n", "/mnt/empty/readme": "", "/mnt/cut/linux": "",
		"/mnt/cut/initrd.gz": "no archive\n",
		"/mnt/none.yaml":     "hosts: []\n", "/mnt/bad.yaml": "a string\n", "/mnt/serial/grub/grub.cfg": serialMenu,
		"/mnt/done/pxelinux.cfg/default": doneMenu, "/mnt/slow/pxelinux.cfg/default": strings.ReplaceAll(doneMenu, "115200", "9600"),
		"/mnt/keys.gpg": "no keys\n", "/mnt/tree/debian-installer/amd64/linux": "kernel", "/mnt/tmp/x": "",
		"/mnt/tree/debian-installer/amd64/initrd.gz": "initrd", "/mnt/tree/debian-installer/amd64/pxelinux.0": "loader",
		"/mnt/tree/debian-installer/amd64/bootnetx64.efi": "shim", "/mnt/tree/debian-installer/amd64/grubx64.efi": "User-Agent: GRUB 2.06",
		"/mnt/hosts.yaml": "hosts:\n  - name: b\n    mac: 02:00:00:00:00:02\n"}) {
		return
	}
	t.Setenv("TMPDIR", "/mnt/tmp")
	l, err := net.Listen("unix", "/mnt/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := len(means.OpenFiles(t))
	apptest.Session(t, "input.txt", func(ctx context.Context, args []string) (int, string, string) {
		if args[0] == "cp" {
			b, err := os.ReadFile(args[1])
			if err := errors.Join(err, os.WriteFile(args[2], b, 0o644)); err != nil {
				return 1, "", err.Error()
			}
			return 0, "", ""
		}
		a := app.App{Traps: []*trap.Trap{rewrites}, Stdin: strings.NewReader("")}
		code, out, errs := apptest.Run(ctx, a, Cmd, append([]string{"netboot"}, args...)...)
		return code, stages.ReplaceAllString(image.ReplaceAllString(out, ""), "/STAGE"), stages.ReplaceAllString(errs, "/STAGE")
	})
	if left, _ := filepath.Glob("/mnt/new*"); len(left) > 0 {
		t.Errorf("what was refused made %v", left)
	}
	if _, err := os.Stat("/etc/fettle-test"); err == nil {
		t.Error("a plan that was shown was applied")
	}
	if now := means.OpenFiles(t); len(now) != before {
		t.Errorf("open are %v, and were %d", now, before)
	}
}
