package steps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// settle waits until md has ended the recovery in all its parts: for a moment
// after the member is in sync the array still says that it is busy.
func (s Readd) settle(m machine.Machine) {
	for begun := time.Now(); time.Since(begun) < startLimit; time.Sleep(pollEvery) {
		if a, err := m.ReadValue(s.sysfs("sync_action")); err != nil || a == "idle" {
			return
		}
	}
}

// wait waits until the member is in sync, or leaves, and tells how far it is.
func (s Readd) wait(ctx context.Context, st *step.Site) error {
	told := ""
	active, interrupt := time.Now(), ctx.Done()
	for {
		at, err := s.where(st.Machine)
		if err != nil || at != syncing {
			return err
		}
		action, err := st.Machine.ReadValue(s.sysfs("sync_action"))
		switch {
		case err == nil && action != "idle" && action != "frozen":
			active = time.Now()
		case time.Since(active) > startLimit && action == "frozen":
			return fmt.Errorf(
				"%s is back in %s, but its recovery is held up (sync_action is frozen): echo idle > %s",
				s.Member,
				s.Array,
				s.sysfs("sync_action"),
			)
		case time.Since(active) > startLimit:
			return fmt.Errorf(
				"%s is back in %s, but nothing syncs it: see mdadm --detail /dev/%s; if it is a spare there, another took its place",
				s.Member,
				s.Array,
				s.Array,
			)
		}
		if p := progress(st.Machine, s.sysfs("")); p != told && p != "" {
			told = p
			st.Note("%s: %s", s.Member, p)
		}
		select {
		case <-interrupt:
			interrupt = nil
			st.Note(
				"interrupted: %s is being synced, fettle ends when that is done; "+
					"press Ctrl-C again to leave that to md, and run fettle resume to finish",
				s.Member,
			)
		case <-time.After(pollEvery):
		}
	}
}

// pending tells whether an array that was not stopped cleanly has a resync to
// come or under way. resync_start is "none", or how far it is (md.c,
// resync_start_show).
func pending(m machine.Machine, sys string) (bool, error) {
	v, err := m.ReadValue(sys + "resync_start")
	if errors.Is(err, fs.ErrNotExist) { // levels without redundancy lack it
		return false, nil
	}
	return v != "none" && v != "", err
}

// calm waits for a resync or a recovery that is under way, as after a power
// cut, or about to begin: until then no member may leave, and md refuses to
// add or take away a bitmap. What somebody else asked for (a check, a reshape)
// is not waited for: the precondition that follows names it. An interrupt ends
// the wait.
func calm(ctx context.Context, st *step.Site, array, sys string) error {
	told := ""
	for begun := time.Now(); ; {
		action, err := st.Machine.ReadValue(sys + "sync_action")
		if err != nil {
			return nil // for the precondition to say
		}
		pending, err := pending(st.Machine, sys)
		syncing := slices.Contains([]string{"resync", "recover"}, action)
		if syncing {
			begun = time.Now()
		}
		state, _ := st.Machine.ReadValue(sys + "array_state")
		if strings.HasPrefix(state, "read") { // nothing begins while it is read-only or auto-read-only
			return nil
		}
		if !syncing && (action != "idle" || err != nil || !pending || time.Since(begun) > startLimit) {
			return nil
		}
		if told == "" {
			told = action
			st.Note("%s is being synced: fettle continues when that is done; Ctrl-C ends the wait and rolls the change back", array)
		}
		if p := progress(st.Machine, sys); p != told && p != "" {
			told = p
			st.Note("%s: %s", array, p)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s is in sync: %w", array, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// progress reads sync_completed, "done / all" in sectors, in tenths.
func progress(m machine.Machine, sys string) string {
	v, err := m.ReadValue(sys + "sync_completed")
	f := strings.Fields(v)
	if err != nil || len(f) != 3 {
		return ""
	}
	done, _ := strconv.ParseFloat(f[0], 64)
	all, _ := strconv.ParseFloat(f[2], 64)
	if all == 0 {
		return ""
	}
	speed, _ := m.ReadValue(sys + "sync_speed") // KiB/s
	kib, _ := strconv.ParseFloat(speed, 64)
	if kib == 0 {
		return fmt.Sprintf("%d %% synced", int(done/all*10)*10)
	}
	left := time.Duration((all - done) / 2 / kib * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d %% synced, %.0f MiB/s, about %s left", int(done/all*10)*10, kib/1024, left)
}
