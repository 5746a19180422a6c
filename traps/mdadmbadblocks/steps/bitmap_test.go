package steps

import (
	"errors"
	"strings"
	"testing"

	"fettle/engine/remedy/step"
)

func TestBitmap(t *testing.T) {
	add, drop := Bitmap{Array: "md0", ArrayUUID: mdArray, Internal: true}, Bitmap{Array: "md0", ArrayUUID: mdArray}
	for _, c := range []struct {
		name     string
		step     Bitmap
		location string
		spoil    func(*fakeMD)
		want     string // location at the end
		err      string
	}{
		{name: "add", step: add, location: "none", want: "+8"},
		{name: "drop", step: drop, location: "+8", want: "none"},
		{name: "before the superblock", step: drop, location: "-16", want: "none"},
		{name: "another name by now", step: add, location: "none", spoil: func(f *fakeMD) { f.name = "md127" }, want: "+8"},
		{name: "md0 is another array by now", step: add, location: "none", want: "none", err: "is not running",
			spoil: func(f *fakeMD) { f.devs["sda1"].array, f.devs["sdb1"].array = "else", "else" }},
		{name: "after a resync", step: add, location: "none", spoil: func(f *fakeMD) { f.syncs("resync", 5) }, want: "+8"},
		{name: "during a check", step: add, location: "none", spoil: func(f *fakeMD) { f.files["sync_action"] = "check" }, want: "none",
			err: "while array is resyncing"},
		{name: "every member re-added before", step: add, location: "none", want: "none", err: "is assembled again",
			spoil: func(f *fakeMD) { f.files["consistency_policy"], f.marked = "resync", true }},
		{name: "somebody added one", step: add, location: "+8", want: "+8", err: "somebody else"},
		{name: "somebody dropped it", step: drop, location: "none", want: "none", err: "somebody else"},
		{name: "in a file", step: drop, location: "file", want: "file", err: "internal ones only"},
	} {
		inTime(t, c.name, func(t *testing.T) {
			f := newFakeMD(t)
			f.files["bitmap/location"] = c.location
			if c.spoil != nil {
				c.spoil(f)
			}
			err := c.step.Apply(t.Context(), &step.Site{Machine: f}, nil)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			var u *step.Untouched
			if errors.As(err, &u) && len(f.ran) > 0 {
				t.Errorf("it says that it never acted, and ran %q", f.ran)
			}
			if got := f.files["bitmap/location"]; got != c.want {
				t.Errorf("the bitmap is at %q, want %q", got, c.want)
			}
			if c.err != "" {
				return
			}
			if done, err := c.step.Done(t.Context(), f, nil, nil); !done || err != nil {
				t.Errorf("done: %v, %v", done, err)
			}
			if err := c.step.Invert(t.Context(), &step.Site{Machine: f}); err != nil ||
				(f.files["bitmap/location"] == "none") != (c.location == "none") {
				t.Errorf("undo: %v, the bitmap is at %q", err, f.files["bitmap/location"])
			}
		})
	}
}
