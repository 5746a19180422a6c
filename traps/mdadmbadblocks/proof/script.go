package proof

import (
	"context"
	"fmt"
	"os"

	"fettle/lab"
)

// script runs the plan as a shell script, as people under change control do.
func script(_ context.Context, b *lab.Bench) error {
	r := &rig{Bench: b}
	if err := r.need(2, 24); err != nil {
		return err
	}
	b.Columns("Bitmap", "List before", "List after", "Missing", "Bitmap after")
	for _, bitmap := range []string{"internal", "none"} {
		if err := r.create("1", 2, "--bitmap="+bitmap); err != nil {
			return err
		}
		before, err := r.badblocks("loop1")
		if err != nil {
			return err
		}
		text, err := r.Run("fettle", "fix", "mdadm-bad-blocks", "--on", "md0/loop1", "--plan", "--format", "sh")
		if err != nil {
			return err
		}
		if err := os.WriteFile("/run/mend.sh", []byte(text), 0o600); err != nil {
			return err
		}
		out, code, err := r.Exec([]string{"sh", "/run/mend.sh"})
		if err != nil || code != 0 {
			return fmt.Errorf("the script ended with status %d, %v: %s", code, err, out)
		}
		after, err := r.badblocks("loop1")
		if err != nil {
			return err
		}
		b.Row(bitmap, before, after, md("degraded"), md("bitmap/location"))
		if before != "empty" || after != "none" || md("degraded") != "0" || (md("bitmap/location") == "none") != (bitmap == "none") {
			return fmt.Errorf(
				"with bitmap %s the list was %s and is %s, %s members are missing, the bitmap is at %s: %s",
				bitmap,
				before,
				after,
				md("degraded"),
				md("bitmap/location"),
				out,
			)
		}
		if err := r.remove(); err != nil {
			return err
		}
	}
	return nil
}
