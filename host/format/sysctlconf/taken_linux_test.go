package sysctlconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// The kernel is asked, through both programs, in namespaces of its own.
func TestTakenAgainstTheKernel(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNET|syscall.CLONE_NEWUTS|syscall.CLONE_NEWNS, 60*time.Second) {
		return
	}
	programs := map[string][]string{"procps": {means.Tool(t, "sysctl"), "-p"}}
	for _, file := range []string{"/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl"} {
		if _, err := os.Stat(file); err == nil {
			programs["systemd"] = []string{file}
		}
	}
	for name, program := range programs {
		for _, c := range []struct{ key, value, now string }{
			{"net/ipv4/ip_default_ttl", "65 # comment", "65"},
			{"net/ipv4/ip_default_ttl", "66\t# comment", "66"},
			{"net/ipv4/ip_default_ttl", "0x43 #comment", "67"},
			{"net/ipv4/ip_local_port_range", "20000 60000 # comment", "20000\t60000"},
			{"net/ipv4/ping_group_range", "0 100 # comment", "0\t100"},
			{"net/ipv4/ip_default_ttl", "68# comment", ""},
			{"net/ipv4/ip_local_reserved_ports", "8080 # comment", ""},
			{"kernel/domainname", "lab.example # comment", "lab.example # comment"},
		} {
			file := filepath.Join(t.TempDir(), "a.conf")
			if err := os.WriteFile(file, []byte(c.key+" = "+c.value+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			proc := "/proc/sys/" + c.key
			before, err := os.ReadFile(proc)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := exec.Command(program[0], append(program[1:], file)...).CombinedOutput()
			b, err := os.ReadFile(proc)
			if err != nil {
				t.Fatal(err)
			}
			now := strings.TrimSpace(string(b))
			if c.now == "" { // refused
				c.now = strings.TrimSpace(string(before))
			}
			if now != c.now {
				t.Errorf("%s: %s = %s: %q, want %q\n%s", name, c.key, c.value, now, c.now, out)
			}
			_, comment := MeantAsComment(c.key, c.value)
			if text := strings.HasPrefix(c.key, "kernel") || strings.HasSuffix(c.key, "ports"); text != (comment != "") {
				t.Errorf("%s = %s: comment %q", c.key, c.value, comment)
			}
			if comment == "" && !strings.Contains(c.value, "8#") && strings.Contains(Taken(c.value), "#") {
				t.Errorf("%s: taken %q", c.value, Taken(c.value))
			}
		}
	}
}
