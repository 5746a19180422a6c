package step

import (
	"fmt"
	"time"

	"fettle/engine/remedy/machine"
)

// Site is where a step is carried out.
type Site struct {
	Machine machine.Machine
	// Temp is the name of the step's temporary files: fixed, so that those
	// of a killed run are found again.
	Temp string
	// InPlace lets a file be written in place when the disk has no room for
	// a second copy; only where the pre-image is safe and going back matters
	// more than atomicity.
	InPlace bool
	// Seen tells how a file stood when fettle itself saw it last; may be nil.
	Seen func(path string) (machine.Image, bool)
	Log  func(string)
}

// Note tells the admin something on the way.
func (s *Site) Note(format string, args ...any) {
	if s.Log != nil {
		s.Log(fmt.Sprintf(format, args...))
	}
}

// AskLimit is how long a question to systemctl may take.
const AskLimit = 10 * time.Second

func (s *Site) seen(path string) (machine.Image, bool) {
	if s.Seen == nil {
		return machine.Image{}, false
	}
	return s.Seen(path)
}
