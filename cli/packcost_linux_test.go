package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fettle/internal/means"
)

// packCost installs a pack of 200 rules in folders that nobody else sees, and measures there.
const packCost = `set -e
for dir in etc var/lib var/cache; do
	mkdir -p "$1/$dir/upper" "$1/$dir/work"
	mount -t overlay -o "lowerdir=/$dir,upperdir=$1/$dir/upper,workdir=$1/$dir/work" overlay "/$dir"
done
mkdir -p /etc/fettle
echo "bench $(cut -d' ' -f1,2 "$2/key.pub")" >/etc/fettle/pack-keys
"$3/fettle" pack install "$2/cost.pack" >/dev/null
"$3/fettle" list | grep -c '^synthetic-' | grep -qx 200
shift 3
exec "$@"
`

// BenchmarkPacks is what a pack of 200 rules, copies of the shipped ones, costs more: CPU of the whole
// process, the median of runs in turn with and without the pack.
func BenchmarkPacks(b *testing.B) {
	if programs := os.Getenv("FETTLE_PACK_COST"); programs != "" {
		measurePacks(b, filepath.Join(programs, "fettle"))
		return
	}
	means.Root(b)
	run := func(dir, name string, args ...string) {
		b.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			b.Fatalf("%s %q: %v", name, args, err)
		}
	}
	dir, programs := b.TempDir(), means.Programs(b, "fettle")
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	run("../traps/rules", "go", "run", "./generate", "synthetic", filepath.Join(dir, "cost"), "200")
	manifest := []byte("name: cost\nversion: 1\nexpires: 2999-01-01\n")
	if err := os.WriteFile(filepath.Join(dir, "cost", "pack.yaml"), manifest, 0o644); err != nil {
		b.Fatal(err)
	}
	run(dir, means.Tool(b, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", "key")
	run(dir, filepath.Join(programs, "fettle"), "pack", "build", "cost", "--key", "key", "-o", "cost.pack")
	memory := filepath.Join(dir, "memory")
	if err := os.Mkdir(memory, 0o755); err != nil {
		b.Fatal(err)
	}
	b.Setenv("FETTLE_PACK_COST", programs)
	run(".", means.Tool(b, "unshare"), "-m", "-p", "--fork", "--mount-proc", "/bin/sh", "-c", "mount -t tmpfs tmpfs "+memory+" && "+packCost,
		"sh", memory, dir, programs, exe, "-test.run", "^$", "-test.bench", "^BenchmarkPacks$", "-test.benchtime", "1x")
}

func measurePacks(b *testing.B, fettle string) {
	const packs, times = "/var/lib/fettle/packs", 40
	cpu := func(verb string) time.Duration {
		c := exec.Command(fettle, verb)
		_ = c.Run() // check exits with what it found
		return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			b.Fatal(err)
		}
	}
	for _, verb := range []string{"--version", "list", "check"} {
		var with, without []time.Duration
		for range times {
			with = append(with, cpu(verb))
			move(packs, packs+".off")
			without = append(without, cpu(verb))
			move(packs+".off", packs)
		}
		slices.Sort(with)
		slices.Sort(without)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(ms(without[times/2]), verb+"-ms")
		b.ReportMetric(ms(with[times/2]-without[times/2]), verb+"-more-ms")
	}
}
