package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"fettle/lab"
	"fettle/tools/measure/disks"
)

var Experiments = []lab.Experiment{
	{Name: "pools", About: "What ZFS of the release writes where, beside fettle's prediction and the field's figures", Long: true,
		Needs: needs(stable, 25*time.Minute), Run: run},
	{Name: "pools-new", About: "The same on the newest ZFS, which balances otherwise", Long: true,
		Needs: needs(newer, 25*time.Minute), Run: run},
}

// trial is one pool that is written to.
type trial struct {
	name   string
	disks  []disk
	vdevs  [][]int           // the disks of each top-level vdev; none: a vdev a disk
	kind   []string          // of each vdev: "", "mirror", "raidz1"
	later  int               // so many of the vdevs are added after fill was written
	fill   int64             // MiB written first
	write  int64             // MiB written and looked at
	set    map[string]string // the module's parameters
	create []string          // further arguments of zpool create
	field  []string          // what the field note says of each vdev
	slow   int               // this vdev is slow; -1: none
}

// reset are the parameters as the module has them; those that it lacks are left.
var reset = map[string]string{"metaslab_bias_enabled": "1", "zio_dva_throttle_enabled": "1", "metaslab_perf_bias": "1"}

var trials = []trial{
	{name: "fast alone", disks: []disk{{mib: 1024}}, write: 256, slow: -1},
	{name: "slow alone", disks: []disk{{mib: 1024, delay: slowDelay}}, write: 64, slow: -1},
	{name: "512M + 2G", disks: []disk{{mib: 512}, {mib: 2048}}, write: 512, field: []string{"118M, 22.5 %", "406M, 77.5 %"}, slow: -1},
	{
		name:   "512M + 2G, recordsize=1M",
		disks:  []disk{{mib: 512}, {mib: 2048}},
		write:  256,
		create: []string{"-O", "recordsize=1M"},
		slow:   -1,
	},
	{
		name:  "512M + 2G, bias off",
		disks: []disk{{mib: 512}, {mib: 2048}},
		write: 256,
		set:   map[string]string{"metaslab_bias_enabled": "0"},
		slow:  -1,
	},
	{name: "equal, one slow, throttle off", disks: []disk{{mib: 512}, {mib: 512, delay: slowDelay}}, write: 512,
		set: map[string]string{
			"zio_dva_throttle_enabled": "0",
			"metaslab_perf_bias":       "0",
		}, field: []string{"266M, 49.7 %", "269M, 50.3 %"}, slow: 1},
	{name: "equal, one slow, defaults", disks: []disk{{mib: 512}, {mib: 512, delay: slowDelay}}, write: 512, slow: 1},
	{name: "full + added", disks: []disk{{mib: 512}, {mib: 512}}, later: 1, fill: 330, write: 128, slow: -1},
	{
		name:  "mirrors",
		disks: []disk{{mib: 256}, {mib: 256}, {mib: 1024}, {mib: 1024}},
		vdevs: [][]int{{0, 1}, {2, 3}},
		kind:  []string{"mirror", "mirror"},
		write: 192,
		slow:  -1,
	},
	{
		name:  "raidz1 of 3 x 256M + 768M",
		disks: []disk{{mib: 256}, {mib: 256}, {mib: 256}, {mib: 768}},
		vdevs: [][]int{{3}, {0, 1, 2}},
		kind:  []string{"", "raidz1"},
		write: 192,
		slow:  -1,
	},
}

type bench struct{ *lab.Bench }

func run(_ context.Context, lb *lab.Bench) error {
	b := bench{lb}
	b.Columns("Pool", "Vdev", "Predicted", "fettle saw", "On disk", "Field note", "Pace")
	version, err := os.ReadFile("/sys/module/zfs/version")
	if err != nil {
		return err
	}
	pace := map[string]float64{}
	var wrong []string
	for _, t := range trials {
		r, err := b.try(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		pace[t.name] = r.pace
		for i, v := range r.vdevs {
			name, mibs, field := "", "", "-"
			if i == 0 {
				name, mibs = t.name, fmt.Sprintf("%.1f MiB/s", r.pace)
			}
			if t.field != nil {
				field = t.field[i]
			}
			b.Row(name, v.name, v.predicted, v.saw, v.onDisk, field, mibs)
		}
		wrong = append(wrong, r.wrong...)
	}
	b.Note(
		"OpenZFS %s; ashift=13 and compression=off, as in the field note. Predicted: by fettle, from free space and the module's parameters; "+
			"in brackets by the size of records, and by speed. "+
			"fettle saw: fettle measure disks, a part of the time. On disk: blocks of the files behind the disks, as the field note has it.",
		strings.TrimSpace(string(version)),
	)
	b.Note(
		"The slow disk takes %d ms longer for each request. With a slow vdev the pool of two wrote at %.2f of the pace of the fast disk "+
			"alone, all waiting for it (throttle off), and at %.2f with the defaults.",
		slowDelay,
		pace["equal, one slow, throttle off"]/pace["fast alone"],
		pace["equal, one slow, defaults"]/pace["fast alone"],
	)
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}

type result struct {
	pace  float64 // MiB/s, until it was on the disks
	vdevs []seenVdev
	wrong []string // what was not as fettle said
}

type seenVdev struct{ name, predicted, saw, onDisk string }

// said is what fettle measure disks prints of a pool.
type said struct {
	Pools []struct {
		Rule     string
		Compared bool
		Lags     string
		Vdevs    []struct {
			Vdev                          string
			Predicted, Low, High, Written float64
		}
	}
}

func (b bench) try(t trial) (r result, err error) {
	if t.vdevs == nil {
		for i := range t.disks {
			t.vdevs, t.kind = append(t.vdevs, []int{i}), append(t.kind, "")
		}
	}
	for _, set := range []map[string]string{reset, t.set} {
		for p, v := range set {
			if err := setParameter(p, v); err != nil {
				return r, err
			}
		}
	}
	for i, d := range t.disks {
		if err := b.all(d.make(i)); err != nil {
			return r, err
		}
	}
	at := len(t.vdevs) - t.later
	argv := slices.Concat(
		[]string{"zpool", "create", "-f", "-o", "ashift=13", "-O", "compression=off"},
		t.create,
		[]string{"test"},
		t.spec(0, at),
	)
	if _, err := b.Run(argv...); err != nil {
		return r, err
	}
	if t.fill > 0 {
		if _, err := b.write("/test/first", t.fill); err != nil {
			return r, err
		}
		if _, err := b.Run(slices.Concat([]string{"zpool", "add", "-f", "-o", "ashift=13", "test"}, t.spec(at, len(t.vdevs)))...); err != nil {
			return r, err
		}
	}
	before := t.blocks()
	type ended struct {
		out string
		err error
	}
	fettle := make(chan ended, 1)
	go func() {
		time.Sleep(time.Second)
		out, err := b.Run("fettle", "measure", "disks", "--interval", "6s", "--format", "json")
		fettle <- ended{out, err}
	}()
	took, err := b.write("/test/file", t.write)
	saw := <-fettle
	if err == nil {
		err = saw.err
	}
	if err != nil {
		return r, err
	}
	r.pace = float64(t.write) / took.Seconds()
	if _, err := b.Run("zpool", "export", "test"); err != nil {
		return r, err
	}
	after := t.blocks()
	var s said
	if err := json.Unmarshal([]byte(saw.out[max(strings.Index(saw.out, "\n{"), 0):]), &s); err != nil {
		return r, fmt.Errorf("reading what fettle measure disks says: %w: %s", err, saw.out)
	}
	r.judge(t, s, before, after)
	for i := range t.disks {
		if err := b.all(remove(i)); err != nil {
			return r, err
		}
		if err := os.Remove(backing(i)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// spec is the part of zpool create's arguments that names vdevs.
func (t trial) spec(from, to int) []string {
	var argv []string
	for v := from; v < to; v++ {
		if t.kind[v] != "" {
			argv = append(argv, t.kind[v])
		}
		for _, d := range t.vdevs[v] {
			argv = append(argv, path(d))
		}
	}
	return argv
}

// blocks is what each vdev holds on its disks, in bytes; of a mirror one side.
func (t trial) blocks() []float64 {
	var out []float64
	for v, ds := range t.vdevs {
		var sum, most float64
		for _, d := range ds {
			var st syscall.Stat_t
			if syscall.Stat(backing(d), &st) == nil {
				sum, most = sum+512*float64(st.Blocks), max(most, 512*float64(st.Blocks))
			}
		}
		if t.kind[v] == "mirror" {
			sum = most
		}
		out = append(out, sum)
	}
	return out
}

// judge puts fettle's words beside what is on the disks.
func (r *result) judge(t trial, s said, before, after []float64) {
	var sum float64
	for v := range after {
		sum += after[v] - before[v]
	}
	for v := range t.vdevs {
		name := name(t.vdevs[v][0])
		if t.kind[v] != "" {
			name = t.kind[v]
		}
		wrote := after[v] - before[v]
		r.vdevs = append(r.vdevs, seenVdev{name, "-", "-", fmt.Sprintf("%.0fM, %.1f %%", wrote/(1<<20), 100*wrote/sum)})
		if len(t.vdevs) == 1 {
			continue
		}
		if len(s.Pools) != 1 || len(s.Pools[0].Vdevs) != len(t.vdevs) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s: fettle saw %+v", t.name, s.Pools))
			return
		}
		f := s.Pools[0].Vdevs[v]
		last := &r.vdevs[v]
		last.predicted = fmt.Sprintf("%.0f %% (%.0f to %.0f)", 100*f.Predicted, 100*f.Low, 100*f.High)
		last.saw = fmt.Sprintf("%.0f %%", 100*f.Written)
		if t.slow < 0 && (wrote/sum < f.Low-near || wrote/sum > f.High+near) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s: %s took %.1f %%, predicted were %s", t.name, name, 100*wrote/sum, last.predicted))
		}
	}
	if len(t.vdevs) > 1 && t.slow < 0 && s.Pools[0].Lags != "" {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: fettle says that %s does not keep up", t.name, s.Pools[0].Lags))
	}
}

// near is by how much a real share may miss the predicted range.
const near = 0.06

// write writes a file of so many MiB and waits until it is on the disks.
func (b bench) write(file string, mib int64) (time.Duration, error) {
	start := time.Now()
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 4<<20)
	for range mib / 4 {
		if _, err := f.Write(buf); err != nil {
			return 0, err
		}
	}
	_, err = b.Run("zpool", "sync", "test")
	return time.Since(start), err
}

func (b bench) all(cmds [][]string) error {
	for _, c := range cmds {
		if _, err := b.Run(c...); err != nil {
			return err
		}
	}
	return nil
}

// setParameter sets one of the module's parameters, where it has it.
func setParameter(name, value string) error {
	f, err := os.OpenFile(disks.Parameters+name, os.O_WRONLY, 0)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
