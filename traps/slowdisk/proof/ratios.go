package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fettle/lab"
)

// needs: loop devices on memory, and dm-delay for the time a disk takes.
func needs(limit time.Duration) lab.Needs {
	return lab.Needs{Engine: "uml", MemMiB: 700, Limit: limit,
		Modules: []string{"loop", "dm-mod", "dm-delay", "raid1", "raid10", "raid456"},
		Tools:   []string{"losetup", "dmsetup", "mdadm", "fio"}}
}

var Experiments = []lab.Experiment{
	{
		Name:  "ratios",
		About: "One slow member at several ratios: is it named, and does the stated gain come true",
		Needs: needs(4 * time.Minute),
		Run:   ratios([]array{{"raid1", 2}}, []int{1, 8}),
	},
	{Name: "all-ratios", About: "The same for mirrors, RAID10 and RAID5, at six ratios", Long: true, Needs: needs(20 * time.Minute),
		Run: ratios([]array{{"raid1", 2}, {"raid1", 3}, {"raid10", 4}, {"raid5", 4}}, []int{1, 2, 4, 8, 16, 32})},
	{
		Name:  "quiet",
		About: "A hundred looks at an array without a slow member: false alarms",
		Long:  true,
		Needs: needs(20 * time.Minute),
		Run:   quiet,
	},
}

type array struct {
	level string
	disks int
}

const (
	diskMiB   = 64
	baseDelay = 10 // ms: a disk's seek
	certain   = 8  // from how many times that on a member must be named
)

type bench struct{ *lab.Bench }

// ratios makes arrays with one member that takes several times as long, looks
// with fettle while fio writes, and then takes the delay away: does the array
// gain what was stated?
func ratios(arrays []array, times []int) func(context.Context, *lab.Bench) error {
	return func(ctx context.Context, lb *lab.Bench) error {
		b := bench{lb}
		b.Columns("Array", "Slow one", "Named", "Stated gain", "Measured gain")
		for _, a := range arrays {
			if err := b.make(a); err != nil {
				return err
			}
			even, _, err := b.look(4)
			if err != nil {
				return err
			}
			for _, n := range times {
				if err := b.delay(a.disks-1, baseDelay*n); err != nil {
					return err
				}
				iops, slow, err := b.look(4)
				if err != nil {
					return err
				}
				if n == 1 {
					even = max(even, iops) // a first run may have met a busy machine
				}
				named, stated := "nobody", "-"
				if len(slow) > 0 {
					var names []string
					for _, s := range slow {
						names = append(names, s.Subject)
					}
					named, stated = strings.Join(names, ", "), gain(string(slow[0].Detail))
				}
				b.Row(fmt.Sprintf("%s of %d", a.level, a.disks), fmt.Sprintf("%d ms", baseDelay*n), named, stated, fmt.Sprintf("%.1f", even/iops))
				right := len(slow) == 1 && strings.HasSuffix(slow[0].Subject, fmt.Sprintf("/dm-%d", a.disks-1))
				if n >= certain && !right || n == 1 && len(slow) > 0 {
					return fmt.Errorf("%s of %d, slow one of %d ms: named %s", a.level, a.disks, baseDelay*n, named)
				}
				if err := a.comesTrue(stated, even/iops); n >= certain && err != nil {
					return fmt.Errorf("%s of %d, slow one of %d ms: %w", a.level, a.disks, baseDelay*n, err)
				}
			}
			if err := b.remove(a); err != nil {
				return err
			}
		}
		b.Note(
			"4 KiB writes at random places, 8 in flight; each disk is delayed by %d ms (dm-delay, which counts in ticks: 20 ms as seen), the "+
				"slow one by what stands there.",
			baseDelay,
		)
		b.Note("The measured gain is the array's writes a second with all members alike, by those with the slow one.")
		return nil
	}
}

// mayMiss is by what factor a stated gain may miss the measured one: an array also
// waits for what is not its disks, and delays end with a tick.
const mayMiss = 2

// touches is how many members a small write waits for: all of a mirror, elsewhere the one with the block, and its
// copy or the parity.
func (a array) touches() int {
	if a.level == "raid1" {
		return a.disks
	}
	return 2
}

// comesTrue holds the gain that was stated, for requests that wait for all members, against the one of small writes
// that was measured.
func (a array) comesTrue(stated string, measured float64) error {
	s, err := strconv.ParseFloat(stated, 64)
	if err != nil {
		return fmt.Errorf("no gain is stated: %q", stated)
	}
	s *= float64(a.touches()) / float64(a.disks)
	if s > mayMiss*measured || measured > mayMiss*s {
		return fmt.Errorf("a gain of %s times is stated, which is %.1f for writes that touch %d of %d members, and %.1f times was measured",
			stated, s, a.touches(), a.disks, measured)
	}
	return nil
}

// quiet looks a hundred times while nothing is wrong.
func quiet(ctx context.Context, lb *lab.Bench) error {
	b := bench{lb}
	b.Columns("Array", "Looks", "False alarms")
	for _, a := range []array{{"raid1", 2}, {"raid10", 4}} {
		if err := b.make(a); err != nil {
			return err
		}
		alarms := 0
		const looks = 50
		for range looks {
			_, slow, err := b.look(2)
			if err != nil {
				return err
			}
			alarms += len(slow)
		}
		b.Row(fmt.Sprintf("%s of %d", a.level, a.disks), strconv.Itoa(looks), strconv.Itoa(alarms))
		if alarms > 0 {
			return fmt.Errorf("%s of %d: %d false alarms in %d looks", a.level, a.disks, alarms, looks)
		}
		if err := b.remove(a); err != nil {
			return err
		}
	}
	return nil
}

// make builds md0 of disks that all take baseDelay.
func (b bench) make(a array) error {
	argv := []string{
		"mdadm",
		"--create",
		"/dev/md0",
		"--run",
		"--quiet",
		"--assume-clean",
		"--bitmap=none",
		"--metadata=1.2",
		"--level=" + a.level,
		fmt.Sprintf("--raid-devices=%d", a.disks),
	}
	for i := range a.disks {
		file := fmt.Sprintf("/run/disk%d", i)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		if err := os.Truncate(file, diskMiB<<20); err != nil {
			return err
		}
		out, err := b.Run("losetup", "-f", "--show", file)
		if err != nil {
			return err
		}
		loop := strings.TrimSpace(out)
		if _, err := b.Run("dmsetup", "create", "--noudevrules", "--noudevsync", name(i), "--table", table(loop, baseDelay)); err != nil {
			return err
		}
		if _, err := b.Run("dmsetup", "mknodes", name(i)); err != nil {
			return err
		}
		argv = append(argv, "/dev/mapper/"+name(i))
	}
	_, err := b.Run(argv...)
	return err
}

func name(i int) string { return fmt.Sprintf("disk%d", i) }

func table(dev string, ms int) string {
	return fmt.Sprintf("0 %d delay %s 0 %d", diskMiB<<20/512, dev, ms)
}

// delay gives one disk another time.
func (b bench) delay(i, ms int) error {
	out, err := b.Run("dmsetup", "table", name(i))
	if err != nil {
		return err
	}
	f := strings.Fields(out) // 0 131072 delay 7:0 0 4
	if len(f) < 6 {
		return fmt.Errorf("dmsetup table: %q", out)
	}
	for _, argv := range [][]string{
		{"dmsetup", "reload", name(i), "--table", table(f[3], ms)},
		{"dmsetup", "suspend", "--nolockfs", "--noudevsync", name(i)},
		{"dmsetup", "resume", "--noudevrules", "--noudevsync", name(i)},
	} {
		if _, err := b.Run(argv...); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) remove(a array) error {
	if _, err := b.Run("mdadm", "--stop", "/dev/md0"); err != nil {
		return err
	}
	for i := range a.disks {
		if _, err := b.Run("dmsetup", "remove", "--noudevsync", name(i)); err != nil {
			return err
		}
	}
	_, err := b.Run("losetup", "-D")
	return err
}

type finding struct {
	Subject, Status, Detail string
}

// look has fio write while fettle looks, and returns the writes a second and
// what fettle found.
func (b bench) look(seconds int) (iops float64, found []finding, err error) {
	type ended struct {
		out string
		err error
	}
	fio := make(chan ended, 1)
	go func() {
		out, err := b.Run(
			"fio",
			"--name=w",
			"--filename=/dev/md0",
			"--rw=randwrite",
			"--bs=4k",
			"--direct=1",
			"--ioengine=libaio",
			"--iodepth=8",
			"--time_based",
			fmt.Sprintf("--runtime=%d", seconds+2),
			"--norandommap",
			"--output-format=json",
		)
		fio <- ended{out, err}
	}()
	time.Sleep(time.Second)
	out, code, err := b.Exec([]string{"fettle", "check", "slow-disk", "--sample", fmt.Sprintf("%ds", seconds), "--format", "json"})
	end := <-fio
	switch {
	case end.err != nil:
		return 0, nil, end.err
	case err != nil:
		return 0, nil, err
	case code > 1:
		return 0, nil, fmt.Errorf("fettle check slow-disk: exit status %d: %s", code, out)
	}
	var said struct {
		Results []struct{ Outcomes []finding }
	}
	if err := json.Unmarshal([]byte(out[max(strings.IndexByte(out, '{'), 0):]), &said); err != nil {
		return 0, nil, fmt.Errorf("reading what fettle check says: %w", err)
	}
	for _, r := range said.Results {
		for _, o := range r.Outcomes {
			if o.Status == "found" {
				found = append(found, o)
			}
		}
	}
	var load struct {
		Jobs []struct{ Write struct{ IOPS float64 } }
	}
	if err := json.Unmarshal([]byte(end.out[max(strings.IndexByte(end.out, '{'), 0):]), &load); err != nil || len(load.Jobs) != 1 {
		return 0, nil, fmt.Errorf("reading fio's JSON: %v", err)
	}
	return load.Jobs[0].Write.IOPS, found, nil
}

// gain is the figure in a finding's detail.
func gain(detail string) string {
	_, s, _ := strings.Cut(detail, "all members would be ")
	s, _, _ = strings.Cut(s, " times")
	return s
}
