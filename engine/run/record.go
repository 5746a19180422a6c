package run

import (
	"errors"
	"io/fs"
	"os"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/format/openpgp"
	"fettle/host/redact"
	"fettle/internal/build"
	"fettle/internal/files"
)

// Recording has a check run write what was read to a file. A confined child is
// handed the file open, and can open none.
type Recording struct {
	Out *os.File  `json:"-"`             // open for writing, empty
	Key []byte    `json:"key,omitempty"` // redact with this key
	Sum *Recorded `json:"-"`             // what came of it, once the run is over; nil: it ended without a capture
}

// Recorded is what a Recording was.
type Recorded struct {
	Name    string   `json:"name"` // of the host, redacted if the capture is
	Answers int      `json:"answers"`
	Unread  []string `json:"unread"`  // what could not be read, with reasons
	Denied  bool     `json:"denied"`  // some of it for lack of permission
	Dropped []string `json:"dropped"` // what redaction left out
	Failed  string   `json:"failed"`  // why there is no capture
}

// start puts a recorder around src; done writes the file. The path of a
// capture below its own root is no business of the host's, so both belong to
// the process that runs the checks.
func (r *Recording) start(src host.Source) (_ host.Source, done func()) {
	if r == nil {
		return src, func() {}
	}
	rec := capture.NewRecorder(src)
	return rec, func() { r.write(rec.Capture()) }
}

// write writes the capture, and sums up.
func (r *Recording) write(c *capture.Capture) {
	sum := Recorded{Name: c.Identity.Hostname}
	if err := r.fill(c, &sum); err != nil {
		sum = Recorded{Failed: files.WithoutPath(err).Error()}
	}
	r.Sum = &sum
}

func (r *Recording) fill(c *capture.Capture, sum *Recorded) error {
	c.Fettle = build.Version()
	for _, u := range c.Unread() {
		why := u.Err
		var pe *fs.PathError
		if errors.As(why, &pe) { // the path is said already
			why = pe.Err
		}
		reason := host.Reason(why)
		if errors.Is(why, host.ErrDenied) {
			sum.Denied, reason = true, "needs root"
		}
		sum.Unread = append(sum.Unread, u.What+": "+reason)
	}
	if r.Key != nil {
		red, err := redact.New(r.Key)
		if err != nil {
			return err
		}
		red.Disguise = openpgp.Disguise
		if sum.Dropped, err = c.Redact(red); err != nil {
			return err
		}
		sum.Name = c.Identity.Hostname
	}
	sum.Answers = len(c.Answers)
	return c.Write(r.Out)
}
