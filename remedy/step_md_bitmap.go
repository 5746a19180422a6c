package remedy

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// MDBitmap gives an MD array an internal write-intent bitmap, or takes it away,
// while the array runs. The array is known by its UUID, because a boot may give
// it another name. A bitmap that somebody else added or took away meanwhile is
// left to him: the step is refused then.
type MDBitmap struct {
	Array     string `json:"array"`      // "md0"
	ArrayUUID string `json:"array_uuid"` // as mdraid.Superblock has it
	Internal  bool   `json:"internal"`   // add it; else take it away
}

func (MDBitmap) Kind() string  { return "md-bitmap" }
func (MDBitmap) running() bool { return false } // it is in the superblocks

func (s MDBitmap) Describe() string {
	if s.Internal {
		return "give " + s.Array + " an internal write-intent bitmap"
	}
	return "take the write-intent bitmap of " + s.Array + " away"
}

func (s MDBitmap) Reversal() Reversal {
	if s.Internal {
		return Reversal{Invertible, "mdadm --grow --bitmap=none takes it away again"}
	}
	return Reversal{Invertible, "mdadm --grow --bitmap=internal adds one again, where mdadm puts it"}
}

func (s MDBitmap) to() string {
	if s.Internal {
		return "--bitmap=internal"
	}
	return "--bitmap=none"
}

func (s MDBitmap) commands() [][]string {
	return [][]string{{"mdadm", "--grow", "/dev/" + s.Array, s.to()}}
}

func (s MDBitmap) sysfs(file string) string { return "/sys/block/" + s.Array + "/md/" + file }

// locate returns the step with the name that the array has now.
func (s MDBitmap) locate(m Machine) (MDBitmap, error) {
	names, _ := m.List(strings.TrimSuffix(s.sysfs(""), "/"))
	for _, name := range names {
		if dev, ok := strings.CutPrefix(name, "dev-"); ok {
			sb, err := m.MDSuperblock(strings.ReplaceAll(dev, "!", "/"))
			if err == nil && sb != nil && sb.SetUUID == s.ArrayUUID {
				return s, nil
			}
		}
	}
	f, err := mdSearch(m, s.ArrayUUID)
	if err != nil {
		return s, err
	}
	now, err := f.running(s.Array, s.ArrayUUID)
	if err == nil {
		s.Array = now
	}
	return s, err
}

func (s MDBitmap) items(_ context.Context, m Machine) ([]Item, error) {
	if !mdName().MatchString(s.Array) || !mdUUID().MatchString(s.ArrayUUID) {
		return nil, fmt.Errorf("%q and %q are not the name and the UUID of an array", s.Array, s.ArrayUUID)
	}
	_, err := s.locate(m)
	return nil, err
}

// present reads whether the array has a bitmap: location is "none", "+8" and
// the like, or "file" (md.rst, bitmap/location).
func (s MDBitmap) present(m Machine) (bool, error) {
	v, err := m.ReadValue(s.sysfs("bitmap/location"))
	switch {
	case err != nil:
		return false, fmt.Errorf("whether %s has a bitmap: %w", s.Array, err)
	case v == "none":
		return false, nil
	case strings.HasPrefix(v, "+"), strings.HasPrefix(v, "-"):
		return true, nil
	}
	return false, fmt.Errorf("%s keeps its bitmap at %q: fettle knows internal ones only", s.Array, v)
}

func (s MDBitmap) done(_ context.Context, m Machine, _, _ []Item) (bool, error) {
	s, err := s.locate(m)
	if err != nil {
		return false, gone(err)
	}
	there, err := s.present(m)
	return err == nil && there == s.Internal, err
}

func (MDBitmap) between(_, _ Item) bool { return false }
func (MDBitmap) undoable() bool         { return true }
func (MDBitmap) probed() bool           { return true }

func (s MDBitmap) undo(ctx context.Context, st *site) error {
	s.Internal = !s.Internal
	return s.act(ctx, st, nil)
}

func (s MDBitmap) act(ctx context.Context, st *site, _ []Item) error {
	s, err := s.locate(st.m)
	if err != nil {
		return &untouched{err}
	}
	if err := mdCalm(ctx, st, s.Array, s.sysfs("")); err != nil {
		return &untouched{err}
	}
	there, err := s.present(st.m)
	switch {
	case err != nil:
		return &untouched{err}
	case there == s.Internal:
		return &untouched{fmt.Errorf("somebody else has run mdadm --grow /dev/%s %s meanwhile", s.Array, s.to())}
	}
	return run(ctx, st.m, slices.Concat([]string{mdadm}, s.commands()[0][1:]), mdLimit)
}
