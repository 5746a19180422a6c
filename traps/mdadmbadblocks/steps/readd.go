// Package steps holds the kinds of steps that change MD arrays.
package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/lazy"
	"fettle/internal/shell"
)

// Readd takes one member out of a redundant MD array and adds it again at
// once, so that its superblock can be changed on the way: with List false its
// empty bad blocks list is dropped (mdadm --re-add --update=no-bbl), with List
// true it gets one. The array has one copy less until it is in sync again; the
// step waits for that.
//
// Right before the member is failed the array must be redundant, whole, idle
// and without spares, no member may have bad blocks recorded, and there must
// be a write-intent bitmap: without one a re-add is refused when the member is
// out already.
type Readd struct {
	Array  string `json:"array"`  // "md0"
	Member string `json:"member"` // "sda1"
	List   bool   `json:"list"`
	// ArrayUUID and DeviceUUID are those of the member's superblock, as
	// mdraid.Superblock has them. A boot may give other names to both; and by
	// the time of an undo the disk may serve somebody else.
	ArrayUUID  string `json:"array_uuid"`
	DeviceUUID string `json:"device_uuid"`
}

const mdadm = "/sbin/mdadm"

// limit is how long one call of mdadm may take; resyncs are waited for by
// looking, without a limit: it is the array's data that sets the time.
const limit = time.Minute

const (
	startLimit = 15 * time.Second       // how long md may take to begin a recovery, or to end one
	pollEvery  = 100 * time.Millisecond // between two looks
	retryAfter = 200 * time.Millisecond // between two attempts to remove a failed member
)

func (Readd) Kind() string { return "md-readd" }

func (Readd) Running() bool { return false } // superblocks outlive a boot

func (s Readd) Describe() string {
	what := "without its bad blocks list"
	if s.List {
		what = "with a bad blocks list"
	}
	return fmt.Sprintf("fail and remove %s of %s, re-add it %s, wait until it is in sync", s.Member, s.Array, what)
}

func (s Readd) Reversal() step.Reversal {
	return step.Reversal{Class: step.Invertible, Note: "the same way back: the array again has one copy less while it syncs"}
}

func (s Readd) update() string {
	if s.List {
		return "--update=bbl"
	}
	return "--update=no-bbl"
}

func (s Readd) Commands() [][]string {
	md, dev := "/dev/"+s.Array, "/dev/"+s.Member
	return [][]string{{"mdadm", md, "--fail", dev, "--remove", dev}, {"mdadm", md, "--re-add", dev, s.update()}, {"mdadm", "--wait", md}}
}

var (
	nameForm = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.:-]*(/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)*$`)
	uuidForm = lazy.Regexp(`^[0-9a-f]{8}(:[0-9a-f]{8}){3}$`)
)

func (s Readd) Items(ctx context.Context, m machine.Machine) ([]step.Item, error) {
	if !nameForm().MatchString(s.Array) || !nameForm().MatchString(s.Member) {
		return nil, fmt.Errorf("%q of %q are not names of a member and an array", s.Member, s.Array)
	}
	if !uuidForm().MatchString(s.ArrayUUID) || !uuidForm().MatchString(s.DeviceUUID) {
		return nil, fmt.Errorf("%q and %q are not UUIDs of an array and a member", s.ArrayUUID, s.DeviceUUID)
	}
	_, err := s.locate(ctx, m)
	return nil, err
}

func (s Readd) Done(ctx context.Context, m machine.Machine, _, _ []step.Item) (bool, error) {
	s, err := s.locate(ctx, m)
	if err != nil {
		return false, gone(err)
	}
	at, err := s.where(m)
	if err != nil || at != inSync {
		return false, err
	}
	has, _, err := s.hasList(m)
	return has == s.List, err
}

// halfway tells whether a cut-off step left the member out of its array, or
// on its way back.
func (s Readd) Halfway(ctx context.Context, m machine.Machine) (bool, error) {
	s, err := s.locate(ctx, m)
	if err != nil {
		return false, gone(err)
	}
	at, err := s.where(m)
	return at != inSync, err
}

// gone forgives that the member is not found where nothing is left to lead
// back: its array lacks no member (the disk was replaced), or nothing on this
// host belongs to that array any more.
func gone(err error) error {
	var lost *lost
	if errors.As(err, &lost) && lost.whole {
		return nil
	}
	return err
}

func (Readd) CanInvert() bool { return true }

func (Readd) Probed() bool { return true }

func (s Readd) Invert(ctx context.Context, st *step.Site) error {
	s.List = !s.List
	return s.Apply(ctx, st, nil)
}

// byHand is what leads a member back that fettle could not.
func (s Readd) byHand() string {
	return fmt.Sprintf(
		"by hand: mdadm /dev/%s --re-add /dev/%s; where that is refused: mdadm /dev/%[1]s --add /dev/%[2]s",
		s.Array,
		s.Member,
	)
}

// act leads the member on from wherever it stands, so that a cut-off step is
// finished by doing it again. Once the member was failed, nothing but its
// return ends the step: an interrupt is heeded afterwards.
func (s Readd) Apply(ctx context.Context, st *step.Site, _ []step.Item) error {
	firm := context.WithoutCancel(ctx)
	s, err := s.locate(firm, st.Machine)
	if err != nil {
		return err
	}
	var refused error // why the member came back without what was wanted
	readds := 0       // of this run: a member that leaves again is not added forever
	for first := true; ; first = false {
		at, err := s.where(st.Machine)
		if err != nil {
			return err
		}
		if first && at != inSync {
			s.warn(st)
		}
		switch {
		case at == inSync:
			end, err := s.in(ctx, st, refused, readds)
			if end || err != nil {
				return err
			}
		case at == syncing:
			if err := s.wait(ctx, st); err != nil {
				return err
			}
		case readds > 0:
			return fmt.Errorf(
				"%s left %s again while it was synced: the disk or its connection is "+
					"faulty; check the kernel log (dmesg) before you add it, or replace it",
				s.Member,
				s.Array,
			)
		case at == faulty:
			if err := s.remove(firm, st); err != nil {
				return err
			}
		default:
			readds++
			if refused, err = s.readd(firm, st); err != nil {
				return err
			}
		}
	}
}

// warn tells what a power cut may have left behind while the member was out:
// md rebuilds it, and on levels with several mirrors or parity does not always
// sync what was being written elsewhere (fettle lab powercut/raid10).
func (s Readd) warn(st *step.Site) {
	if level, err := st.Machine.ReadValue(s.sysfs("level")); err == nil && level != "raid1" {
		st.Note(
			"if it was a power cut that left %s out, make the copies agree when this is done: echo repair > %s",
			s.Member,
			s.sysfs("sync_action"),
		)
	}
}

// in is what to do with a member that is in sync: nothing more, or fail it.
func (s Readd) in(ctx context.Context, st *step.Site, refused error, readds int) (end bool, err error) {
	firm := context.WithoutCancel(ctx)
	if readds > 0 {
		s.settle(st.Machine)
	}
	if refused != nil {
		return true, refused
	}
	has, entries, err := s.hasList(st.Machine)
	if err != nil {
		return true, fmt.Errorf("%s is in %s and in sync, but %w", s.Member, s.Array, err)
	}
	switch {
	case has == s.List:
		s.settle(st.Machine)
		return true, nil
	case readds > 0:
		return true, fmt.Errorf("mdadm re-added %s but left its superblock as it was", s.Member)
	case ctx.Err() != nil:
		return true, &step.Untouched{Err: ctx.Err()}
	case entries:
		return true, &step.Untouched{
			Err: fmt.Errorf("%s now has entries in its bad blocks list; mdadm does not drop a list with entries online", s.Member),
		}
	}
	if err := calm(ctx, st, s.Array, s.sysfs("")); err != nil {
		return true, &step.Untouched{Err: err}
	}
	if err := s.fit(st.Machine); err != nil {
		return true, &step.Untouched{Err: err}
	}
	err = step.Run(firm, st.Machine, []string{mdadm, "/dev/" + s.Array, "--fail", "/dev/" + s.Member}, limit)
	if err == nil {
		return false, nil
	}
	// It may have had its effect nevertheless: then go on.
	if at, werr := s.where(st.Machine); werr == nil && at != inSync {
		return false, nil
	}
	return true, err
}

// remove takes the failed member out. md lets go of it only when its last
// requests have ended.
func (s Readd) remove(ctx context.Context, st *step.Site) error {
	var err error
	for range 50 {
		if err = step.Run(ctx, st.Machine, []string{mdadm, "/dev/" + s.Array, "--remove", "/dev/" + s.Member}, limit); err == nil {
			return nil
		}
		if at, werr := s.where(st.Machine); werr == nil && at != faulty {
			return nil // udev or somebody else was quicker
		}
		time.Sleep(retryAfter)
	}
	return fmt.Errorf(
		"taking the failed %s out of %s: %w; when nothing uses it any more: mdadm /dev/%s --remove /dev/%s, then %s",
		s.Member,
		s.Array,
		err,
		s.Array,
		s.Member,
		s.byHand(),
	)
}

// readd adds the member again: as wanted, else as it is, else again. refused
// says why it could not be as wanted; err that it is still out.
func (s Readd) readd(ctx context.Context, st *step.Site) (refused, err error) {
	md, dev := "/dev/"+s.Array, "/dev/"+s.Member
	sb, err := st.Machine.MDSuperblock(s.Member)
	if err != nil || !s.mine(sb) {
		return nil, fmt.Errorf(
			"%s is out of %s, and %s no longer holds its superblock (%w); nothing was written to it",
			s.Member,
			s.Array,
			dev,
			orMismatch(err),
		)
	}
	has, entries, err := s.hasList(st.Machine)
	first := []string{mdadm, md, "--re-add", dev}
	if err == nil && has != s.List && !entries {
		first = append(first, s.update())
	}
	attempts := [][]string{first, {mdadm, md, "--re-add", dev}, append([]string{mdadm, md, "--add"}, append(addFlags(sb), dev)...)}
	for i, argv := range attempts {
		if i > 0 && slices.Equal(argv, attempts[i-1]) {
			continue
		}
		if argv[2] == "--add" {
			st.Note("re-add is refused: adding %s as a new member, which needs a full sync", s.Member)
		}
		err = step.Run(ctx, st.Machine, argv, limit)
		if err == nil {
			return refused, nil
		}
		if at, werr := s.where(st.Machine); werr == nil && at != out {
			return errors.Join(refused, fmt.Errorf("%s was added back by something else (udev?) in the meantime", s.Member)), nil
		}
		if refused == nil {
			refused = fmt.Errorf("re-adding %s: %w", s.Member, err)
			st.Note("%v", refused)
		}
	}
	return refused, fmt.Errorf(
		"%s is out of %s and could not be added again: %w; %s",
		s.Member,
		s.Array,
		err,
		strings.Replace(s.byHand(), "by hand", "do it by hand", 1),
	)
}

func orMismatch(err error) error {
	if err == nil {
		return errors.New("it holds another")
	}
	return err
}

func (s Readd) Renamed(ctx context.Context, m machine.Machine) (was, is string, err error) {
	now, err := s.locate(ctx, m)
	return s.Array + "/" + s.Member, now.Array + "/" + now.Member, err
}

// Shell writes the step for a shell, with the preconditions of fit
// and what leads the member back when the update is refused. A "!" before a
// command would keep set -e from heeding it (POSIX, set).
func (s Readd) Shell(string) (string, error) {
	md, dev := shell.Quote("/dev/"+s.Array), shell.Quote("/dev/"+s.Member)
	sys := shell.Quote(strings.TrimSuffix(s.sysfs(""), "/"))
	state := shell.Quote(s.memberFile("state"))
	return fmt.Sprintf(`grep -qx 0 %[3]s/degraded
grep -qx idle %[3]s/sync_action
grep -q '^[+-]' %[3]s/bitmap/location
mdadm --examine %[2]s | grep -q 'Device UUID : %[5]s'
if grep -q . %[3]s/dev-*/bad_blocks %[3]s/dev-*/unacknowledged_bad_blocks; then echo "bad blocks are recorded in %[6]s" >&2; exit 1; fi
if grep -vqE '^in_sync(,write_mostly)?(,failfast)?$' %[3]s/dev-*/state; then echo "a member of %[6]s is a spare, or not in sync" >&2; exit 1; fi
mdadm %[1]s --fail %[2]s
left=50
until mdadm %[1]s --remove %[2]s; do left=$((left - 1)); [ "$left" -gt 0 ]; sleep 1; done
mdadm %[1]s --re-add %[2]s %[7]s || mdadm %[1]s --re-add %[2]s || mdadm %[1]s --add %[2]s
left=30 # seconds for a recovery to begin; one that is under way takes its time
until grep -qw in_sync %[4]s; do
	if grep -qx idle %[3]s/sync_action; then left=$((left - 1)); [ "$left" -gt 0 ]; fi
	sleep 1
done
`, md, dev, sys, state, s.DeviceUUID, s.Array, s.update()), nil
}

func (s Readd) Ansible(b *step.Tasks) error { return b.Commands(s) }

var _ = step.Register[Readd]()
