package proof

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/internal/means"
)

// judged are samples of rules that the program itself can read: it is run where the
// sample's folder lies over the host's, and says Words if and only if the sample is trapped.
var judged = []struct {
	rule, samples, over string
	argv                []string
	words               string
}{
	{"fail2ban-no-log", "trapped healthy-journal healthy-13", "/etc/fail2ban", []string{"fail2ban-server", "-t"},
		"Have not found any log file for sshd jail"},
	{"sshd-first-value-wins", "trapped healthy healthy-match", "/etc/ssh", []string{"sshd", "-T"}, "passwordauthentication yes"},
	{"nfs-export-space", "trapped healthy healthy-defaults", "/etc", []string{"exportfs", "-ra"}, "No host name given"},
}

// overlaid runs a program in a mount namespace of its own, with a sample's folder over the
// host's and no logs of its own.
const overlaid = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /var/log
mount -t tmpfs tmpfs /run
[ ! -d /var/lib/nfs ] || mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /run/sshd /run/fail2ban
mount -t overlay overlay -o "lowerdir=$1/root$2:$2" "$2"
shift 2
exec "$@"`

// TestPrograms: where the program is installed, it says of the samples what the rule says.
func TestPrograms(t *testing.T) {
	means.Root(t)
	unshare := means.Tool(t, "unshare")
	for _, j := range judged {
		for _, sample := range strings.Fields(j.samples) {
			t.Run(j.rule+"/"+sample, func(t *testing.T) {
				program := means.Tool(t, j.argv[0])
				a, err := txtar.ParseFile(filepath.Join("..", j.rule, sample+".txtar"))
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				for _, f := range a.Files {
					name, ok := strings.CutPrefix(f.Name, "root/")
					if !ok {
						continue
					}
					name = filepath.Join(dir, "root", name)
					if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(name, f.Data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				args := append([]string{"-m", "-n", "sh", "-c", overlaid, "sh", dir, j.over, program}, j.argv[1:]...)
				out, _ := exec.CommandContext(t.Context(), unshare, args...).CombinedOutput()
				if got, want := strings.Contains(string(out), j.words), strings.HasPrefix(sample, "trapped"); got != want {
					t.Errorf("%q said: %v, want %v\n%s", j.words, got, want, out)
				}
			})
		}
	}
}
