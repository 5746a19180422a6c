package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/shell"
)

// Bitmap gives an MD array an internal write-intent bitmap, or takes it away,
// while the array runs. The array is known by its UUID, because a boot may give
// it another name. A bitmap that somebody else added or took away meanwhile is
// left to him: the step is refused then.
type Bitmap struct {
	Array     string `json:"array"`      // "md0"
	ArrayUUID string `json:"array_uuid"` // as mdraid.Superblock has it
	Internal  bool   `json:"internal"`   // add it; else take it away
}

func (Bitmap) Kind() string { return "md-bitmap" }

func (Bitmap) Running() bool { return false } // it is in the superblocks

func (s Bitmap) Describe() string {
	if s.Internal {
		return "give " + s.Array + " an internal write-intent bitmap"
	}
	return "remove the write-intent bitmap of " + s.Array + " away"
}

func (s Bitmap) Reversal() step.Reversal {
	if s.Internal {
		return step.Reversal{Class: step.Invertible, Note: "mdadm --grow --bitmap=none removes it again"}
	}
	return step.Reversal{Class: step.Invertible, Note: "mdadm --grow --bitmap=internal adds one again, where mdadm puts it"}
}

func (s Bitmap) to() string {
	if s.Internal {
		return "--bitmap=internal"
	}
	return "--bitmap=none"
}

func (s Bitmap) Commands() [][]string {
	return [][]string{{"mdadm", "--grow", "/dev/" + s.Array, s.to()}}
}

func (s Bitmap) sysfs(file string) string { return "/sys/block/" + s.Array + "/md/" + file }

// locate returns the step with the name that the array has now.
func (s Bitmap) locate(m machine.Machine) (Bitmap, error) {
	names, _ := m.List(strings.TrimSuffix(s.sysfs(""), "/"))
	for _, name := range names {
		if dev, ok := strings.CutPrefix(name, "dev-"); ok {
			sb, err := m.MDSuperblock(strings.ReplaceAll(dev, "!", "/"))
			if err == nil && sb != nil && sb.SetUUID == s.ArrayUUID {
				return s, nil
			}
		}
	}
	f, err := search(m, s.ArrayUUID)
	if err != nil {
		return s, err
	}
	now, err := f.Running(s.Array, s.ArrayUUID)
	if err == nil {
		s.Array = now
	}
	return s, err
}

func (s Bitmap) Items(_ context.Context, m machine.Machine) ([]step.Item, error) {
	if !nameForm().MatchString(s.Array) || !uuidForm().MatchString(s.ArrayUUID) {
		return nil, fmt.Errorf("%q and %q are not the name and the UUID of an array", s.Array, s.ArrayUUID)
	}
	_, err := s.locate(m)
	return nil, err
}

// present reads whether the array has a bitmap: location is "none", "+8" and
// the like, or "file" (md.rst, bitmap/location).
func (s Bitmap) present(m machine.Machine) (bool, error) {
	v, err := m.ReadValue(s.sysfs("bitmap/location"))
	switch {
	case err != nil:
		return false, fmt.Errorf("whether %s has a bitmap: %w", s.Array, err)
	case v == "none":
		return false, nil
	case strings.HasPrefix(v, "+"), strings.HasPrefix(v, "-"):
		return true, nil
	}
	return false, fmt.Errorf("%s has its bitmap at %q: fettle supports internal ones only", s.Array, v)
}

func (s Bitmap) Done(_ context.Context, m machine.Machine, _, _ []step.Item) (bool, error) {
	s, err := s.locate(m)
	if err != nil {
		return false, gone(err)
	}
	there, err := s.present(m)
	return err == nil && there == s.Internal, err
}

func (Bitmap) CanInvert() bool { return true }

func (Bitmap) Probed() bool { return true }

func (s Bitmap) Invert(ctx context.Context, st *step.Site) error {
	s.Internal = !s.Internal
	return s.Apply(ctx, st, nil)
}

func (s Bitmap) Apply(ctx context.Context, st *step.Site, _ []step.Item) error {
	s, err := s.locate(st.Machine)
	if err != nil {
		return &step.Untouched{Err: err}
	}
	if err := calm(ctx, st, s.Array, s.sysfs("")); err != nil {
		return &step.Untouched{Err: err}
	}
	there, err := s.present(st.Machine)
	switch {
	case err != nil:
		return &step.Untouched{Err: err}
	case there == s.Internal:
		return &step.Untouched{Err: fmt.Errorf("somebody else has run mdadm --grow /dev/%s %s in the meantime", s.Array, s.to())}
	}
	err = step.Run(ctx, st.Machine, slices.Concat([]string{mdadm}, s.Commands()[0][1:]), limit)
	if err != nil && s.Internal {
		return s.unreadable(st.Machine, err)
	}
	return err
}

// unreadable explains why a bitmap was not added, where every member has been re-added over
// an earlier one: each re-add marks its member (Bitmap_sync), a bitmap is read from members
// without the mark only, and none loses it before the array is assembled anew (Linux 6.1,
// drivers/md/md.c, super_1_validate; md-bitmap.c, read_sb_page). The kernel then leaves the
// place of the bitmap set (md-bitmap.c, location_store), as if there were one: that is put
// right.
func (s Bitmap) unreadable(m machine.Machine, err error) error {
	there, lerr := s.present(m)
	policy, perr := m.ReadValue(s.sysfs("consistency_policy")) // Linux 4.12
	if lerr != nil || perr != nil || !there || policy == "bitmap" {
		return err
	}
	return errors.Join(fmt.Errorf("%w: the kernel adds no bitmap to an array of which every member was re-added over an earlier one, "+
		"until %s is assembled again; restart the host (or stop the array and assemble it), then repeat this", err, s.Array),
		m.WriteValue(s.sysfs("bitmap/location"), "none"))
}

// Shell writes the step for a shell: the array is the one that was
// meant, and stands as it did when the plan was made.
func (s Bitmap) Shell(string) (string, error) {
	md, location := shell.Quote("/dev/"+s.Array), shell.Quote(s.sysfs("bitmap/location"))
	other := s
	other.Internal = !s.Internal
	was := "grep -qx none " + location
	if !s.Internal {
		was = "grep -q '^[+-]' " + location
	}
	return fmt.Sprintf(
		"mdadm --detail %[1]s | grep -q 'UUID : %[2]s'\n%[3]s\nmdadm --grow %[1]s %[4]s\nundo mdadm --grow %[1]s %[5]s\n",
		md,
		s.ArrayUUID,
		was,
		s.to(),
		other.to(),
	), nil
}

func (s Bitmap) Ansible(b *step.Tasks) error { return b.Commands(s) }

var _ = step.Register[Bitmap]()
