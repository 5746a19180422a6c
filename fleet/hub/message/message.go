// Package message defines the messages between agents and the hub: versioned,
// bounded, JSON compressed with zstd. docs/schema/agent-message-1.schema.json
// and docs/schema/agent-ask-1.schema.json describe them.
package message

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle/engine/trap"
	"fettle/internal/build"
	"fettle/internal/jsondoc"
	"fettle/report"
	"fettle/report/onhub"
)

// Version is that of the messages. It grows when a field is removed or changes
// its meaning; a hub takes the versions up to its own.
const Version = 1

// Kind says what a message holds.
type Kind string

const (
	Whole  Kind = "report" // all that a run found
	Change Kind = "change" // the traps that say something else than the message before
	Beat   Kind = "beat"   // the agent is there, and no more
	Want   Kind = "want"   // root asks for a pack by hand, beside the agent that runs
)

// BeatAfter is how long an agent is silent before it sends a beat: long enough that checks
// once an hour need none, and far below the time after which a hub takes a host for silent.
const BeatAfter = 75 * time.Minute

// Stopping is why an agent sends a beat when its host is about to stop.
const Stopping = "stopping"

// Formats of the documents.
const (
	Format    = "fettle-agent-message"
	AskFormat = "fettle-agent-ask"
)

// Message is what an agent sends.
type Message struct {
	jsondoc.Envelope
	Kind  Kind   `json:"kind"`
	Agent string `json:"agent"` // the name that the hub gave it
	// Instance is a new random number whenever the agent starts; Seq counts its messages
	// from 1 on. Both together name a message for ever.
	Instance string `json:"instance"`
	Seq      int64  `json:"seq"`
	// Sent is the host's clock when the message was made.
	Sent time.Time `json:"sent"`
	Why  string    `json:"why,omitempty"` // start, schedule, ask, or the event's name
	Ask  string    `json:"ask,omitempty"` // which question this answers

	// Digest names the state of the host that this message leads to, Base the
	// one that a change begins with. Only the agent knows how they come about.
	Digest string `json:"digest,omitempty"`
	Base   string `json:"base,omitempty"`

	Run *Run `json:"run,omitempty"` // report and change
	// Fixes are what fettle fix changed on the host, the newest last: of a report, and of a
	// change where they are others than before.
	Fixes []Fix `json:"fixes,omitempty"`
	Self  *Self `json:"self,omitempty"` // beat, and each report
	// Want is the pack that a want asks for.
	Want string `json:"want,omitempty"`
}

// Run is what a run of fettle check said, or the part of it that changed.
type Run struct {
	Meta    *report.Meta      `json:"meta,omitempty"` // of a change: if it differs
	Traps   []report.TrapInfo `json:"traps,omitempty"`
	Results []Result          `json:"results,omitempty"`
	Gone    []string          `json:"gone,omitempty"` // of a change: traps that are checked no more
	Took    time.Duration     `json:"took_ns,omitempty"`
	// Failed says why there is no run: fettle check ended otherwise than it should.
	Failed string `json:"failed,omitempty"`
}

// Result is what one trap's check said: the outcomes that tell something, and
// how many others there were.
type Result struct {
	Trap          string         `json:"trap"`
	Outcomes      []trap.Outcome `json:"outcomes,omitempty"` // found and unknown
	Clear         int            `json:"clear,omitempty"`
	NotApplicable int            `json:"not_applicable,omitempty"`
}

// Fix is a change that fettle fix made on a host.
type Fix struct {
	ID       string    `json:"id"` // on that host
	At       time.Time `json:"at"` // by the host's clock
	By       string    `json:"by,omitempty"`
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject,omitempty"`
	Summary  string    `json:"summary,omitempty"` // of the finding
	Phase    string    `json:"phase"`             // applying, applied, undoing, rolled back
	Verified bool      `json:"verified"`          // the check did not find the trap afterwards
	Standing string    `json:"standing"`          // the phase in words
	Undo     string    `json:"undo,omitempty"`    // the command that undoes it there
}

// FixesKept is how many changes of a host the hub has: the newest.
const FixesKept = 50

// FitFixes takes the newest changes, within the bounds of a message.
func FitFixes(list []Fix) []Fix {
	list = slices.Clone(list[max(0, len(list)-FixesKept):])
	for i := range list {
		f := &list[i]
		f.Subject, f.Summary, f.Standing = cut(f.Subject, maxName), cut(f.Summary, maxText), cut(f.Standing, maxText)
		f.By, f.ID, f.Undo, f.Phase = cut(f.By, maxName), cut(f.ID, maxName), cut(f.Undo, maxName), cut(f.Phase, maxName)
	}
	return slices.DeleteFunc(list, func(f Fix) bool { return f.valid() != nil })
}

func (f *Fix) valid() error {
	if f.ID == "" || !IsTrap(f.Trap) || len(f.ID) > maxName || len(f.By) > maxName || len(f.Subject) > maxName || len(f.Undo) > maxName ||
		len(f.Phase) > maxName || len(f.Summary) > maxText || len(f.Standing) > maxText ||
		nul(f.ID, f.By, f.Subject, f.Undo, f.Phase, f.Summary, f.Standing) {
		return fmt.Errorf("a change of %.40q is not as fettle makes them", f.Trap)
	}
	return nil
}

// Self is what an agent says of itself.
type Self struct {
	Machine string        `json:"machine,omitempty"` // a hash of machine-id, for this purpose alone
	Every   time.Duration `json:"every_ns,omitempty"`
	Waiting int           `json:"waiting,omitempty"` // messages that are kept until the hub can be reached
	Dropped int64         `json:"dropped,omitempty"` // and those that had no place
	Refused int64         `json:"refused,omitempty"` // questions beyond the agent's own limit
	// Accepts names the list of what is accepted on the hub that the agent has; NoAccepts if
	// it has none. Agents that keep no such list leave it out, and are sent none.
	Accepts string `json:"accepts,omitempty"`
	// Compared is the boot ID of the start that was compared with before (fettle after). It
	// comes with whole reports, and once when that is done.
	Compared string `json:"compared,omitempty"`
	// TakesPacks says that root lets the hub hand packs on to this host, and Packs what it had.
	TakesPacks bool      `json:"takes_packs,omitempty"`
	Packs      []HasPack `json:"packs,omitempty"`
}

// NoAccepts names the empty list.
const NoAccepts = "-"

// Ask is what the hub asks of agents. There is nothing to ask but to look.
type Ask struct {
	jsondoc.Envelope
	ID    string `json:"id"`
	Whole bool   `json:"whole,omitempty"` // the answer is to be a whole report
	// Within is the time over which the answers of many agents are spread.
	Within time.Duration `json:"within_ns,omitempty"`
}

// NewAsk is a question.
func NewAsk(id string, whole bool, within time.Duration) *Ask {
	return &Ask{jsondoc.Envelope{Format: AskFormat, Schema: Version, Fettle: build.Version()}, id, whole, within}
}

// New is a message without its content.
func New(kind Kind) *Message {
	return &Message{Envelope: jsondoc.Envelope{Format: Format, Schema: Version, Fettle: build.Version()}, Kind: kind}
}

// Ack is the hub's answer to messages, after it has committed them: what is up
// to Seq is kept for good, and need not be sent again.
type Ack struct {
	Instance string `json:"instance"`
	Seq      int64  `json:"seq"`
	Again    bool   `json:"again,omitempty"`   // messages after Seq did not come: send them again
	Whole    bool   `json:"whole,omitempty"`   // the hub lacks what the last change builds upon
	Refused  string `json:"refused,omitempty"` // why the message Seq itself was not taken
	Retired  bool   `json:"retired,omitempty"` // the host was removed: its agent is done
	// Accepts is what operators accept on this host, where the agent has another list.
	Accepts *onhub.List `json:"accepts,omitempty"`
}

// Accepts is a list within the bounds of a message, named by what is in it.
func Accepts(entries []onhub.Entry) *onhub.List {
	l := &onhub.List{Digest: NoAccepts}
	size := 0
	for _, e := range entries {
		e.Subject, e.Summary, e.Reason, e.By = cut(e.Subject, maxText), cut(e.Summary, maxText), cut(e.Reason, maxName), cut(e.By, maxName)
		b, err := json.Marshal(e)
		if size += len(b); err != nil || size > maxAck/2 || len(l.Entries) >= maxAccepts {
			break
		}
		l.Entries = append(l.Entries, e)
	}
	if len(l.Entries) > 0 {
		b, err := json.Marshal(l.Entries)
		if err != nil {
			panic(err) // strings and truths alone
		}
		sum := sha256.Sum256(b)
		l.Digest = base64.RawURLEncoding.EncodeToString(sum[:12])
	}
	return l
}

// validAccepts refuses a list that no hub would send.
func validAccepts(l *onhub.List) error {
	if l == nil {
		return nil
	}
	if !digest().MatchString(l.Digest) || l.Digest == "" || len(l.Entries) > maxAccepts {
		return errors.New("its list of what is accepted is not as a hub makes it")
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		if _, ok := trap.ParseSeverity(e.Severity); !ok || !IsTrap(e.Trap) || len(e.Subject) > maxText || len(e.Summary) > maxText ||
			len(e.Reason) > maxName || len(e.By) > maxName || len(e.Until) > maxName {
			return fmt.Errorf("an acceptance of %.40q is not as a hub makes them", e.Trap)
		}
	}
	return nil
}
