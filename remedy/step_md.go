package remedy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MDReadd takes one member out of a redundant MD array and adds it again at
// once, so that its superblock can be changed on the way: with List false its
// empty bad blocks list is dropped (mdadm --re-add --update=no-bbl), with List
// true it gets one. The array has one copy less until it is in sync again; the
// step waits for that.
//
// Right before the member is failed the array must be redundant, whole and
// idle, and have a write-intent bitmap: without one a re-add is refused when
// the member is out already.
type MDReadd struct {
	Array  string `json:"array"`  // "md0"
	Member string `json:"member"` // "sda1"
	List   bool   `json:"list"`
}

const mdadm = "/sbin/mdadm"

// mdLimit is how long one call of mdadm may take; resyncs are waited for by
// looking, without a limit: it is the array's data that sets the time.
const mdLimit = time.Minute

// mdStart is how long md may take to begin a recovery.
const mdStart = 15 * time.Second

func (MDReadd) Kind() string  { return "md-readd" }
func (MDReadd) running() bool { return false } // superblocks outlive a boot

func (s MDReadd) Describe() string {
	what := "without its bad blocks list"
	if s.List {
		what = "with a bad blocks list"
	}
	return fmt.Sprintf("fail and remove %s of %s, re-add it %s, wait until it is in sync", s.Member, s.Array, what)
}

func (s MDReadd) Reversal() Reversal {
	return Reversal{Invertible, "the same way back: the array has one copy less once more while it syncs"}
}

func (s MDReadd) update() string {
	if s.List {
		return "--update=bbl"
	}
	return "--update=no-bbl"
}

func (s MDReadd) commands() [][]string {
	md, dev := "/dev/"+s.Array, "/dev/"+s.Member
	return [][]string{{"mdadm", md, "--fail", dev, "--remove", dev}, {"mdadm", md, "--re-add", dev, s.update()}, {"mdadm", "--wait", md}}
}

var mdName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]*(/[A-Za-z0-9_.:-]+)*$`)

func (s MDReadd) items(_ context.Context, m Machine) ([]Item, error) {
	if !mdName.MatchString(s.Array) || !mdName.MatchString(s.Member) {
		return nil, fmt.Errorf("%q of %q are not names of a member and an array", s.Member, s.Array)
	}
	if _, err := m.ReadValue(s.sysfs("level")); err != nil {
		return nil, fmt.Errorf("array %s: %w", s.Array, err)
	}
	return nil, nil
}

func (s MDReadd) sysfs(file string) string { return "/sys/block/" + s.Array + "/md/" + file }

// memberFile is a file of the member in the array's sysfs folder.
func (s MDReadd) memberFile(file string) string {
	return s.sysfs("dev-" + strings.ReplaceAll(s.Member, "/", "!") + "/" + file)
}

// where the member stands.
const (
	mdIn      = "in sync"
	mdSyncing = "syncing"
	mdFaulty  = "faulty"
	mdOut     = "not in the array"
)

func (s MDReadd) where(m Machine) (string, error) {
	v, err := m.ReadValue(s.memberFile("state"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return mdOut, nil
	}
	if err != nil {
		return "", err
	}
	switch words := strings.Split(v, ","); {
	case slices.Contains(words, "faulty"):
		return mdFaulty, nil
	case slices.Contains(words, "in_sync"):
		return mdIn, nil
	}
	return mdSyncing, nil
}

// hasList asks mdadm, which reads the superblock past the page cache.
func (s MDReadd) hasList(ctx context.Context, m Machine) (has, entries bool, err error) {
	out, err := m.Ask(ctx, []string{mdadm, "--examine-badblocks", "/dev/" + s.Member}, mdLimit)
	if err != nil {
		return false, false, err
	}
	switch text := string(out.Stdout); {
	case strings.Contains(text, "No bad-blocks list configured"):
		return false, false, nil
	case strings.Contains(text, "Bad-blocks list is empty"):
		return true, false, nil
	case strings.Contains(text, "Bad-blocks on"):
		return true, true, nil
	}
	return false, false, fmt.Errorf("asking mdadm for the bad blocks list of /dev/%s%s", s.Member, said(out))
}

func (s MDReadd) done(ctx context.Context, m Machine, _, _ []Item) (bool, error) {
	at, err := s.where(m)
	if err != nil || at != mdIn {
		return false, err
	}
	has, _, err := s.hasList(ctx, m)
	return has == s.List, err
}

// halfway tells whether a cut-off step left the member out of its array, or
// on its way back.
func (s MDReadd) halfway(_ context.Context, m Machine) (bool, error) {
	at, err := s.where(m)
	return at != mdIn, err
}

func (MDReadd) between(_, _ Item) bool { return false }
func (MDReadd) undoable() bool         { return true }
func (MDReadd) probed() bool           { return true }

func (s MDReadd) undo(ctx context.Context, st *site) error {
	s.List = !s.List
	return s.act(ctx, st, nil)
}

// act leads the member on from wherever it stands, so that a cut-off step is
// finished by doing it again. Once the member was failed, nothing but its
// return ends the step: an interrupt is heeded afterwards.
func (s MDReadd) act(ctx context.Context, st *site, _ []Item) error {
	return s.lead(context.WithoutCancel(ctx), ctx, st)
}

func (s MDReadd) lead(firm, ctx context.Context, st *site) error {
	var refused error // why the member came back without what was wanted
	for {
		at, err := s.where(st.m)
		if err != nil {
			return err
		}
		switch at {
		case mdIn:
			if refused != nil {
				return refused
			}
			has, entries, err := s.hasList(firm, st.m)
			if err != nil || has == s.List {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if entries {
				return fmt.Errorf("%s has entries in its bad blocks list by now; mdadm does not drop a list with entries online", s.Member)
			}
			if err := s.fit(st.m); err != nil {
				return err
			}
			if err := run(firm, st.m, []string{mdadm, "/dev/" + s.Array, "--fail", "/dev/" + s.Member}, mdLimit); err != nil {
				return err
			}
		case mdFaulty:
			if err := s.remove(firm, st); err != nil {
				return err
			}
		case mdOut:
			if refused, err = s.readd(firm, st); err != nil {
				return err
			}
		case mdSyncing:
			if err := s.wait(st); err != nil {
				return err
			}
		}
	}
}

// fit is the precondition of failing a member.
func (s MDReadd) fit(m Machine) error {
	v := map[string]string{}
	for _, f := range []string{"level", "metadata_version", "degraded", "sync_action", "raid_disks", "array_state", "bitmap/location"} {
		var err error
		if v[f], err = m.ReadValue(s.sysfs(f)); err != nil {
			return fmt.Errorf("%s is not an array that can spare a member: %w", s.Array, err)
		}
	}
	disks, _ := strconv.Atoi(v["raid_disks"])
	switch {
	case !slices.Contains([]string{"raid1", "raid4", "raid5", "raid6", "raid10"}, v["level"]) || disks < 2:
		return fmt.Errorf("%s (%s of %s) has no redundancy", s.Array, v["level"], v["raid_disks"])
	case !strings.HasPrefix(v["metadata_version"], "1."):
		return fmt.Errorf("%s has metadata %s, not version 1", s.Array, v["metadata_version"])
	case v["degraded"] != "0":
		return fmt.Errorf("%s misses %s of its members", s.Array, v["degraded"])
	case v["sync_action"] != "idle":
		return fmt.Errorf("%s is busy: %s", s.Array, v["sync_action"])
	case v["bitmap/location"] == "none" || v["bitmap/location"] == "":
		return fmt.Errorf("%s has no write-intent bitmap: the member could not be re-added", s.Array)
	case slices.Contains([]string{"clear", "inactive", "readonly", "read-auto"}, v["array_state"]):
		return fmt.Errorf("%s is %s", s.Array, v["array_state"])
	}
	return nil
}

// remove takes the failed member out. md lets go of it only when its last
// requests have ended.
func (s MDReadd) remove(ctx context.Context, st *site) error {
	var err error
	for range 50 {
		if err = run(ctx, st.m, []string{mdadm, "/dev/" + s.Array, "--remove", "/dev/" + s.Member}, mdLimit); err == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("taking the failed %s out of %s: %w; when it is out, add it again: mdadm /dev/%s --re-add /dev/%s", s.Member, s.Array, err, s.Array, s.Member)
}

// readd adds the member again: as wanted, else as it is, else anew. refused
// says why it could not be as wanted; err that it is still out.
func (s MDReadd) readd(ctx context.Context, st *site) (refused, err error) {
	md, dev := "/dev/"+s.Array, "/dev/"+s.Member
	has, _, err := s.hasList(ctx, st.m)
	argv := []string{mdadm, md, "--re-add", dev}
	if err == nil && has != s.List {
		argv = append(argv, s.update())
	}
	if err = run(ctx, st.m, argv, mdLimit); err == nil {
		if has, _, herr := s.hasList(ctx, st.m); herr == nil && has != s.List {
			return fmt.Errorf("mdadm re-added %s but left its bad blocks list as it was: it has entries", s.Member), nil
		}
		return nil, nil
	}
	refused = fmt.Errorf("re-adding %s: %w", s.Member, err)
	st.note("%v; adding it as it is", refused)
	if err = run(ctx, st.m, []string{mdadm, md, "--re-add", dev}, mdLimit); err == nil {
		return refused, nil
	}
	st.note("%s has to be synced whole", s.Member)
	if err = run(ctx, st.m, []string{mdadm, md, "--add", dev}, mdLimit); err != nil {
		return refused, fmt.Errorf("%s is out of %s and could not be added again: %w; do it by hand: mdadm %s --add %s", s.Member, s.Array, err, md, dev)
	}
	return refused, nil
}

// wait waits until the member is in sync, and tells how far it is.
func (s MDReadd) wait(st *site) error {
	told := ""
	idle := time.Now()
	for {
		at, err := s.where(st.m)
		if err != nil || at != mdSyncing {
			return err
		}
		if a, err := st.m.ReadValue(s.sysfs("sync_action")); err == nil && a != "idle" {
			idle = time.Now()
		} else if time.Since(idle) > mdStart {
			return fmt.Errorf("%s is back in %s, but nothing syncs it: see /proc/mdstat", s.Member, s.Array)
		}
		if p := s.progress(st.m); p != told && p != "" {
			told = p
			st.note("%s: %s", s.Member, p)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// progress reads sync_completed, "done / all" in sectors, in tenths.
func (s MDReadd) progress(m Machine) string {
	v, err := m.ReadValue(s.sysfs("sync_completed"))
	f := strings.Fields(v)
	if err != nil || len(f) != 3 {
		return ""
	}
	done, _ := strconv.ParseFloat(f[0], 64)
	all, _ := strconv.ParseFloat(f[2], 64)
	if all == 0 {
		return ""
	}
	speed, _ := m.ReadValue(s.sysfs("sync_speed")) // KiB/s
	kib, _ := strconv.ParseFloat(speed, 64)
	if kib == 0 {
		return fmt.Sprintf("%d %% synced", int(done/all*10)*10)
	}
	left := time.Duration((all - done) / 2 / kib * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d %% synced, %.0f MiB/s, about %s left", int(done/all*10)*10, kib/1024, left)
}
